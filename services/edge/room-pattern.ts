/** Room patterns of the configuration: names, or prefixes that end in *, comma separated. */

/** Whether a room is one of those that `patterns` names. */
export function roomMatcher(patterns: string): (room: string) => boolean {
  const names = new Set<string>();
  const prefixes: string[] = [];
  for (const pattern of patterns.split(',').map((each) => each.trim())) {
    if (pattern.endsWith('*')) prefixes.push(pattern.slice(0, -1));
    else if (pattern !== '') names.add(pattern);
  }
  return (room) => names.has(room) || prefixes.some((prefix) => room.startsWith(prefix));
}
