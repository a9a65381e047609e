import { describe, expect, it } from 'vitest';
import { Member, TRANSITIONS, type MemberEvent, type MemberState } from '../../services/edge/member.js';
import { plain } from '../../services/edge/protocols/plain.js';
import { Room } from '../../services/edge/room.js';
import { EdgeHarness } from '../support/edge-parts.js';

const EVENTS: readonly MemberEvent[] = ['blocked', 'overtaken', 'reached_ring', 'reached_head', 'left'];
const STATES: readonly MemberState[] = ['steady', 'lagging', 'catching-up', 'closed'];

/** Every pair of state and event; '-' is a fault. */
const WHOLE_TABLE: Record<MemberState, Record<MemberEvent, MemberState | '-'>> = {
  steady: {
    blocked: 'lagging',
    overtaken: 'catching-up',
    reached_ring: '-',
    reached_head: 'steady',
    left: 'closed',
  },
  lagging: {
    blocked: 'lagging',
    overtaken: 'catching-up',
    reached_ring: '-',
    reached_head: 'steady',
    left: 'closed',
  },
  'catching-up': {
    blocked: 'catching-up',
    overtaken: 'catching-up',
    reached_ring: 'lagging',
    reached_head: 'steady',
    left: 'closed',
  },
  closed: { blocked: '-', overtaken: '-', reached_ring: '-', reached_head: '-', left: 'closed' },
};

const PAIRS = STATES.flatMap((state) =>
  EVENTS.map((event): [MemberState, MemberEvent, MemberState | '-'] => [state, event, WHOLE_TABLE[state][event]]),
);

function newMember(): Member {
  const edge = new EdgeHarness();
  return new Member(edge.connect().session, new Room('doc-1', edge.parts), '"1"', false, plain);
}

describe('a member’s states', () => {
  it.each(PAIRS)('[F14] %s, %s: %s', (state, event, next) => {
    expect(TRANSITIONS[state][event] ?? '-').toBe(next);
    const member = newMember();
    member.state = state;
    if (next === '-') {
      expect(() => {
        member.to(event);
      }).toThrow(`${event} while ${state}`);
      expect(member.state).toBe(state);
    } else {
      member.to(event);
      expect(member.state).toBe(next);
    }
  });

  it('[F14] the table has these states and events, and no others', () => {
    expect(Object.keys(TRANSITIONS).sort()).toEqual([...STATES].sort());
    const named = Object.values(TRANSITIONS).flatMap((row) => Object.keys(row));
    expect(named.filter((event) => !EVENTS.includes(event as MemberEvent))).toEqual([]);
  });

  it.each(PAIRS.filter(([, , next]) => next !== '-'))(
    '[F8] stragglers are counted when they enter and leave: %s, %s',
    (state, event, next) => {
      const member = newMember();
      member.state = state;
      member.to(event);
      const { stragglersEntered, stragglersLeft } = member.room.counters;
      expect([stragglersEntered, stragglersLeft]).toEqual([
        state !== 'catching-up' && next === 'catching-up' ? 1 : 0,
        state === 'catching-up' && next !== 'catching-up' ? 1 : 0,
      ]);
    },
  );
});

describe('a member’s own part', () => {
  it('[F1] is made once, and as a stored block only when it is needed', () => {
    const member = newMember();
    expect(member.opening.toString()).toBe('{"id":"1","data":');
    expect(member.own.toString()).toBe('"id":"1","data":');
    expect(member.own.buffer).toBe(member.opening.buffer);
    expect(member.stored).toBe(member.stored);
  });
});
