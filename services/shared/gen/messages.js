/*eslint-disable block-scoped-var, id-length, no-control-regex, no-magic-numbers, no-mixed-operators, no-prototype-builtins, no-redeclare, no-shadow, no-var, sort-vars, default-case, jsdoc/require-param*/
import $protobuf from "protobufjs/minimal.js";

// Common aliases
const $Reader = $protobuf.Reader, $Writer = $protobuf.Writer, $util = $protobuf.util;
const $Object = $util.global.Object, $undefined = $util.global.undefined, $Error = $util.global.Error, $RangeError = $util.global.RangeError;

// Exported root namespace
const $root = $protobuf.roots["default"] || ($protobuf.roots["default"] = {});

export const revcast = $root.revcast = (() => {

    /**
     * Namespace revcast.
     * @exports revcast
     * @namespace
     */
    const revcast = {};

    revcast.log = (function() {

        /**
         * Namespace log.
         * @memberof revcast
         * @namespace
         */
        const log = {};

        log.Entry = (function() {

            /**
             * Properties of an Entry.
             * @typedef {Object} revcast.log.Entry.$Properties
             * @property {string|null} [room] Entry room
             * @property {string|null} [epoch] Entry epoch
             * @property {number|null} [tag] Entry tag
             * @property {Uint8Array|null} [appendId] Entry appendId
             * @property {number|null} [firstRev] Entry firstRev
             * @property {number|null} [previousTime] Entry previousTime
             * @property {Array.<revcast.log.StoredRevision.$Properties>|null} [revisions] Entry revisions
             * @property {number|null} [previousSeq] Entry previousSeq
             * @property {Uint8Array|null} [base] Entry base
             * @property {number|null} [previousTag] Entry previousTag
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of an Entry.
             * @memberof revcast.log
             * @interface IEntry
             * @augments revcast.log.Entry.$Properties
             * @deprecated Use revcast.log.Entry.$Properties instead.
             */

            /**
             * Shape of an Entry.
             * @typedef {revcast.log.Entry.$Properties} revcast.log.Entry.$Shape
             */

            /**
             * Constructs a new Entry.
             * @memberof revcast.log
             * @classdesc Represents an Entry.
             * @constructor
             * @param {revcast.log.Entry.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const Entry = function (properties) {
                this.revisions = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * Entry room.
             * @member {string} room
             * @memberof revcast.log.Entry
             * @instance
             */
            Entry.prototype.room = "";

            /**
             * Entry epoch.
             * @member {string} epoch
             * @memberof revcast.log.Entry
             * @instance
             */
            Entry.prototype.epoch = "";

            /**
             * Entry tag.
             * @member {number} tag
             * @memberof revcast.log.Entry
             * @instance
             */
            Entry.prototype.tag = 0;

            /**
             * Entry appendId.
             * @member {Uint8Array} appendId
             * @memberof revcast.log.Entry
             * @instance
             */
            Entry.prototype.appendId = $util.newBuffer([]);

            /**
             * Entry firstRev.
             * @member {number} firstRev
             * @memberof revcast.log.Entry
             * @instance
             */
            Entry.prototype.firstRev = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            /**
             * Entry previousTime.
             * @member {number} previousTime
             * @memberof revcast.log.Entry
             * @instance
             */
            Entry.prototype.previousTime = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            /**
             * Entry revisions.
             * @member {Array.<revcast.log.StoredRevision.$Properties>} revisions
             * @memberof revcast.log.Entry
             * @instance
             */
            Entry.prototype.revisions = $util.emptyArray;

            /**
             * Entry previousSeq.
             * @member {number} previousSeq
             * @memberof revcast.log.Entry
             * @instance
             */
            Entry.prototype.previousSeq = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            /**
             * Entry base.
             * @member {Uint8Array} base
             * @memberof revcast.log.Entry
             * @instance
             */
            Entry.prototype.base = $util.newBuffer([]);

            /**
             * Entry previousTag.
             * @member {number} previousTag
             * @memberof revcast.log.Entry
             * @instance
             */
            Entry.prototype.previousTag = 0;

            /**
             * Encodes the specified Entry message. Does not implicitly {@link revcast.log.Entry.verify|verify} messages.
             * @function encode
             * @memberof revcast.log.Entry
             * @static
             * @param {revcast.log.Entry.$Properties} message Entry message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            Entry.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.room != null && $Object.hasOwnProperty.call(message, "room") && message.room !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.room);
                if (message.epoch != null && $Object.hasOwnProperty.call(message, "epoch") && message.epoch !== "")
                    writer.uint32(/* id 2, wireType 2 =*/18).string(message.epoch);
                if (message.tag != null && $Object.hasOwnProperty.call(message, "tag") && message.tag !== 0)
                    writer.uint32(/* id 3, wireType 5 =*/29).fixed32(message.tag);
                if (message.appendId != null && $Object.hasOwnProperty.call(message, "appendId") && message.appendId.length)
                    writer.uint32(/* id 4, wireType 2 =*/34).bytes(message.appendId);
                if (message.firstRev != null && $Object.hasOwnProperty.call(message, "firstRev") && (typeof message.firstRev === "object" ? message.firstRev.low || message.firstRev.high : message.firstRev !== 0))
                    writer.uint32(/* id 5, wireType 0 =*/40).uint64(message.firstRev);
                if (message.previousTime != null && $Object.hasOwnProperty.call(message, "previousTime") && (typeof message.previousTime === "object" ? message.previousTime.low || message.previousTime.high : message.previousTime !== 0))
                    writer.uint32(/* id 6, wireType 0 =*/48).uint64(message.previousTime);
                if (message.revisions != null && message.revisions.length)
                    for (let i = 0; i < message.revisions.length; ++i)
                        $root.revcast.log.StoredRevision.encode(message.revisions[i], writer.uint32(/* id 7, wireType 2 =*/58).fork(), _depth + 1).ldelim();
                if (message.previousSeq != null && $Object.hasOwnProperty.call(message, "previousSeq") && (typeof message.previousSeq === "object" ? message.previousSeq.low || message.previousSeq.high : message.previousSeq !== 0))
                    writer.uint32(/* id 8, wireType 0 =*/64).uint64(message.previousSeq);
                if (message.base != null && $Object.hasOwnProperty.call(message, "base") && message.base.length)
                    writer.uint32(/* id 9, wireType 2 =*/74).bytes(message.base);
                if (message.previousTag != null && $Object.hasOwnProperty.call(message, "previousTag") && message.previousTag !== 0)
                    writer.uint32(/* id 10, wireType 5 =*/85).fixed32(message.previousTag);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes an Entry message from the specified reader or buffer.
             * @function decode
             * @memberof revcast.log.Entry
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {revcast.log.Entry & revcast.log.Entry.$Shape} Entry
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            Entry.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.revcast.log.Entry();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.room = value;
                            else
                                delete message.room;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.epoch = value;
                            else
                                delete message.epoch;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 5)
                                break;
                            if (value = reader.fixed32())
                                message.tag = value;
                            else
                                delete message.tag;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.appendId = value;
                            else
                                delete message.appendId;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.firstRev = value;
                            else
                                delete message.firstRev;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.previousTime = value;
                            else
                                delete message.previousTime;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            if (!(message.revisions && message.revisions.length))
                                message.revisions = [];
                            message.revisions.push($root.revcast.log.StoredRevision.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 8: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.previousSeq = value;
                            else
                                delete message.previousSeq;
                            continue;
                        }
                    case 9: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.base = value;
                            else
                                delete message.base;
                            continue;
                        }
                    case 10: {
                            if (wireType !== 5)
                                break;
                            if (value = reader.fixed32())
                                message.previousTag = value;
                            else
                                delete message.previousTag;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for Entry
             * @function getTypeUrl
             * @memberof revcast.log.Entry
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            Entry.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/revcast.log.Entry";
            };

            return Entry;
        })();

        log.Snapshot = (function() {

            /**
             * Properties of a Snapshot.
             * @typedef {Object} revcast.log.Snapshot.$Properties
             * @property {string|null} [room] Snapshot room
             * @property {string|null} [epoch] Snapshot epoch
             * @property {number|null} [rev] Snapshot rev
             * @property {number|null} [tag] Snapshot tag
             * @property {number|null} [time] Snapshot time
             * @property {Uint8Array|null} [data] Snapshot data
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a Snapshot.
             * @memberof revcast.log
             * @interface ISnapshot
             * @augments revcast.log.Snapshot.$Properties
             * @deprecated Use revcast.log.Snapshot.$Properties instead.
             */

            /**
             * Shape of a Snapshot.
             * @typedef {revcast.log.Snapshot.$Properties} revcast.log.Snapshot.$Shape
             */

            /**
             * Constructs a new Snapshot.
             * @memberof revcast.log
             * @classdesc Represents a Snapshot.
             * @constructor
             * @param {revcast.log.Snapshot.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const Snapshot = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * Snapshot room.
             * @member {string} room
             * @memberof revcast.log.Snapshot
             * @instance
             */
            Snapshot.prototype.room = "";

            /**
             * Snapshot epoch.
             * @member {string} epoch
             * @memberof revcast.log.Snapshot
             * @instance
             */
            Snapshot.prototype.epoch = "";

            /**
             * Snapshot rev.
             * @member {number} rev
             * @memberof revcast.log.Snapshot
             * @instance
             */
            Snapshot.prototype.rev = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            /**
             * Snapshot tag.
             * @member {number} tag
             * @memberof revcast.log.Snapshot
             * @instance
             */
            Snapshot.prototype.tag = 0;

            /**
             * Snapshot time.
             * @member {number} time
             * @memberof revcast.log.Snapshot
             * @instance
             */
            Snapshot.prototype.time = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            /**
             * Snapshot data.
             * @member {Uint8Array} data
             * @memberof revcast.log.Snapshot
             * @instance
             */
            Snapshot.prototype.data = $util.newBuffer([]);

            /**
             * Encodes the specified Snapshot message. Does not implicitly {@link revcast.log.Snapshot.verify|verify} messages.
             * @function encode
             * @memberof revcast.log.Snapshot
             * @static
             * @param {revcast.log.Snapshot.$Properties} message Snapshot message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            Snapshot.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.room != null && $Object.hasOwnProperty.call(message, "room") && message.room !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.room);
                if (message.epoch != null && $Object.hasOwnProperty.call(message, "epoch") && message.epoch !== "")
                    writer.uint32(/* id 2, wireType 2 =*/18).string(message.epoch);
                if (message.rev != null && $Object.hasOwnProperty.call(message, "rev") && (typeof message.rev === "object" ? message.rev.low || message.rev.high : message.rev !== 0))
                    writer.uint32(/* id 3, wireType 0 =*/24).uint64(message.rev);
                if (message.tag != null && $Object.hasOwnProperty.call(message, "tag") && message.tag !== 0)
                    writer.uint32(/* id 4, wireType 5 =*/37).fixed32(message.tag);
                if (message.time != null && $Object.hasOwnProperty.call(message, "time") && (typeof message.time === "object" ? message.time.low || message.time.high : message.time !== 0))
                    writer.uint32(/* id 5, wireType 0 =*/40).uint64(message.time);
                if (message.data != null && $Object.hasOwnProperty.call(message, "data") && message.data.length)
                    writer.uint32(/* id 6, wireType 2 =*/50).bytes(message.data);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a Snapshot message from the specified reader or buffer.
             * @function decode
             * @memberof revcast.log.Snapshot
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {revcast.log.Snapshot & revcast.log.Snapshot.$Shape} Snapshot
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            Snapshot.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.revcast.log.Snapshot();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.room = value;
                            else
                                delete message.room;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.epoch = value;
                            else
                                delete message.epoch;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.rev = value;
                            else
                                delete message.rev;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 5)
                                break;
                            if (value = reader.fixed32())
                                message.tag = value;
                            else
                                delete message.tag;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.time = value;
                            else
                                delete message.time;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.data = value;
                            else
                                delete message.data;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for Snapshot
             * @function getTypeUrl
             * @memberof revcast.log.Snapshot
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            Snapshot.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/revcast.log.Snapshot";
            };

            return Snapshot;
        })();

        log.StoredRevision = (function() {

            /**
             * Properties of a StoredRevision.
             * @typedef {Object} revcast.log.StoredRevision.$Properties
             * @property {number|null} [time] StoredRevision time
             * @property {string|null} [author] StoredRevision author
             * @property {Uint8Array|null} [data] StoredRevision data
             * @property {string|null} [key] StoredRevision key
             * @property {number|null} [appendSize] StoredRevision appendSize
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a StoredRevision.
             * @memberof revcast.log
             * @interface IStoredRevision
             * @augments revcast.log.StoredRevision.$Properties
             * @deprecated Use revcast.log.StoredRevision.$Properties instead.
             */

            /**
             * Shape of a StoredRevision.
             * @typedef {revcast.log.StoredRevision.$Properties} revcast.log.StoredRevision.$Shape
             */

            /**
             * Constructs a new StoredRevision.
             * @memberof revcast.log
             * @classdesc Represents a StoredRevision.
             * @constructor
             * @param {revcast.log.StoredRevision.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const StoredRevision = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * StoredRevision time.
             * @member {number} time
             * @memberof revcast.log.StoredRevision
             * @instance
             */
            StoredRevision.prototype.time = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            /**
             * StoredRevision author.
             * @member {string} author
             * @memberof revcast.log.StoredRevision
             * @instance
             */
            StoredRevision.prototype.author = "";

            /**
             * StoredRevision data.
             * @member {Uint8Array} data
             * @memberof revcast.log.StoredRevision
             * @instance
             */
            StoredRevision.prototype.data = $util.newBuffer([]);

            /**
             * StoredRevision key.
             * @member {string} key
             * @memberof revcast.log.StoredRevision
             * @instance
             */
            StoredRevision.prototype.key = "";

            /**
             * StoredRevision appendSize.
             * @member {number} appendSize
             * @memberof revcast.log.StoredRevision
             * @instance
             */
            StoredRevision.prototype.appendSize = 0;

            /**
             * Encodes the specified StoredRevision message. Does not implicitly {@link revcast.log.StoredRevision.verify|verify} messages.
             * @function encode
             * @memberof revcast.log.StoredRevision
             * @static
             * @param {revcast.log.StoredRevision.$Properties} message StoredRevision message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            StoredRevision.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.time != null && $Object.hasOwnProperty.call(message, "time") && (typeof message.time === "object" ? message.time.low || message.time.high : message.time !== 0))
                    writer.uint32(/* id 1, wireType 0 =*/8).uint64(message.time);
                if (message.author != null && $Object.hasOwnProperty.call(message, "author") && message.author !== "")
                    writer.uint32(/* id 2, wireType 2 =*/18).string(message.author);
                if (message.data != null && $Object.hasOwnProperty.call(message, "data") && message.data.length)
                    writer.uint32(/* id 3, wireType 2 =*/26).bytes(message.data);
                if (message.key != null && $Object.hasOwnProperty.call(message, "key") && message.key !== "")
                    writer.uint32(/* id 4, wireType 2 =*/34).string(message.key);
                if (message.appendSize != null && $Object.hasOwnProperty.call(message, "appendSize") && message.appendSize !== 0)
                    writer.uint32(/* id 5, wireType 0 =*/40).uint32(message.appendSize);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a StoredRevision message from the specified reader or buffer.
             * @function decode
             * @memberof revcast.log.StoredRevision
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {revcast.log.StoredRevision & revcast.log.StoredRevision.$Shape} StoredRevision
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            StoredRevision.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.revcast.log.StoredRevision();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.time = value;
                            else
                                delete message.time;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.author = value;
                            else
                                delete message.author;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.data = value;
                            else
                                delete message.data;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.key = value;
                            else
                                delete message.key;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.appendSize = value;
                            else
                                delete message.appendSize;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for StoredRevision
             * @function getTypeUrl
             * @memberof revcast.log.StoredRevision
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            StoredRevision.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/revcast.log.StoredRevision";
            };

            return StoredRevision;
        })();

        return log;
    })();

    revcast.producer = (function() {

        /**
         * Namespace producer.
         * @memberof revcast
         * @namespace
         */
        const producer = {};

        producer.AppendRequest = (function() {

            /**
             * Properties of an AppendRequest.
             * @typedef {Object} revcast.producer.AppendRequest.$Properties
             * @property {string|null} [room] AppendRequest room
             * @property {Uint8Array|null} [data] AppendRequest data
             * @property {string|null} [key] AppendRequest key
             * @property {number|null} [expectedRev] AppendRequest expectedRev
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of an AppendRequest.
             * @memberof revcast.producer
             * @interface IAppendRequest
             * @augments revcast.producer.AppendRequest.$Properties
             * @deprecated Use revcast.producer.AppendRequest.$Properties instead.
             */

            /**
             * Shape of an AppendRequest.
             * @typedef {revcast.producer.AppendRequest.$Properties} revcast.producer.AppendRequest.$Shape
             */

            /**
             * Constructs a new AppendRequest.
             * @memberof revcast.producer
             * @classdesc Represents an AppendRequest.
             * @constructor
             * @param {revcast.producer.AppendRequest.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const AppendRequest = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * AppendRequest room.
             * @member {string} room
             * @memberof revcast.producer.AppendRequest
             * @instance
             */
            AppendRequest.prototype.room = "";

            /**
             * AppendRequest data.
             * @member {Uint8Array} data
             * @memberof revcast.producer.AppendRequest
             * @instance
             */
            AppendRequest.prototype.data = $util.newBuffer([]);

            /**
             * AppendRequest key.
             * @member {string} key
             * @memberof revcast.producer.AppendRequest
             * @instance
             */
            AppendRequest.prototype.key = "";

            /**
             * AppendRequest expectedRev.
             * @member {number|null|undefined} expectedRev
             * @memberof revcast.producer.AppendRequest
             * @instance
             */
            AppendRequest.prototype.expectedRev = null;

            // OneOf field names bound to virtual getters and setters
            let $oneOfFields;

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(AppendRequest.prototype, "_expectedRev", {
                get: $util.oneOfGetter($oneOfFields = ["expectedRev"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            /**
             * Encodes the specified AppendRequest message. Does not implicitly {@link revcast.producer.AppendRequest.verify|verify} messages.
             * @function encode
             * @memberof revcast.producer.AppendRequest
             * @static
             * @param {revcast.producer.AppendRequest.$Properties} message AppendRequest message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            AppendRequest.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.room != null && $Object.hasOwnProperty.call(message, "room") && message.room !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.room);
                if (message.data != null && $Object.hasOwnProperty.call(message, "data") && message.data.length)
                    writer.uint32(/* id 2, wireType 2 =*/18).bytes(message.data);
                if (message.key != null && $Object.hasOwnProperty.call(message, "key") && message.key !== "")
                    writer.uint32(/* id 3, wireType 2 =*/26).string(message.key);
                if (message.expectedRev != null && $Object.hasOwnProperty.call(message, "expectedRev"))
                    writer.uint32(/* id 4, wireType 0 =*/32).uint64(message.expectedRev);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes an AppendRequest message from the specified reader or buffer.
             * @function decode
             * @memberof revcast.producer.AppendRequest
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {revcast.producer.AppendRequest & revcast.producer.AppendRequest.$Shape} AppendRequest
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            AppendRequest.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.revcast.producer.AppendRequest();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.room = value;
                            else
                                delete message.room;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.data = value;
                            else
                                delete message.data;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.key = value;
                            else
                                delete message.key;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            message.expectedRev = reader.uint64();
                            message._expectedRev = "expectedRev";
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for AppendRequest
             * @function getTypeUrl
             * @memberof revcast.producer.AppendRequest
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            AppendRequest.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/revcast.producer.AppendRequest";
            };

            return AppendRequest;
        })();

        producer.AppendReply = (function() {

            /**
             * Properties of an AppendReply.
             * @typedef {Object} revcast.producer.AppendReply.$Properties
             * @property {string|null} [epoch] AppendReply epoch
             * @property {number|null} [rev] AppendReply rev
             * @property {number|null} [firstRev] AppendReply firstRev
             * @property {number|null} [tag] AppendReply tag
             * @property {number|null} [seq] AppendReply seq
             * @property {number|null} [time] AppendReply time
             * @property {boolean|null} [duplicate] AppendReply duplicate
             * @property {revcast.producer.Error.$Properties|null} [error] AppendReply error
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of an AppendReply.
             * @memberof revcast.producer
             * @interface IAppendReply
             * @augments revcast.producer.AppendReply.$Properties
             * @deprecated Use revcast.producer.AppendReply.$Properties instead.
             */

            /**
             * Shape of an AppendReply.
             * @typedef {revcast.producer.AppendReply.$Properties} revcast.producer.AppendReply.$Shape
             */

            /**
             * Constructs a new AppendReply.
             * @memberof revcast.producer
             * @classdesc Represents an AppendReply.
             * @constructor
             * @param {revcast.producer.AppendReply.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const AppendReply = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * AppendReply epoch.
             * @member {string} epoch
             * @memberof revcast.producer.AppendReply
             * @instance
             */
            AppendReply.prototype.epoch = "";

            /**
             * AppendReply rev.
             * @member {number} rev
             * @memberof revcast.producer.AppendReply
             * @instance
             */
            AppendReply.prototype.rev = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            /**
             * AppendReply firstRev.
             * @member {number} firstRev
             * @memberof revcast.producer.AppendReply
             * @instance
             */
            AppendReply.prototype.firstRev = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            /**
             * AppendReply tag.
             * @member {number} tag
             * @memberof revcast.producer.AppendReply
             * @instance
             */
            AppendReply.prototype.tag = 0;

            /**
             * AppendReply seq.
             * @member {number} seq
             * @memberof revcast.producer.AppendReply
             * @instance
             */
            AppendReply.prototype.seq = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            /**
             * AppendReply time.
             * @member {number} time
             * @memberof revcast.producer.AppendReply
             * @instance
             */
            AppendReply.prototype.time = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            /**
             * AppendReply duplicate.
             * @member {boolean} duplicate
             * @memberof revcast.producer.AppendReply
             * @instance
             */
            AppendReply.prototype.duplicate = false;

            /**
             * AppendReply error.
             * @member {revcast.producer.Error.$Properties|null|undefined} error
             * @memberof revcast.producer.AppendReply
             * @instance
             */
            AppendReply.prototype.error = null;

            /**
             * Encodes the specified AppendReply message. Does not implicitly {@link revcast.producer.AppendReply.verify|verify} messages.
             * @function encode
             * @memberof revcast.producer.AppendReply
             * @static
             * @param {revcast.producer.AppendReply.$Properties} message AppendReply message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            AppendReply.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.epoch != null && $Object.hasOwnProperty.call(message, "epoch") && message.epoch !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.epoch);
                if (message.rev != null && $Object.hasOwnProperty.call(message, "rev") && (typeof message.rev === "object" ? message.rev.low || message.rev.high : message.rev !== 0))
                    writer.uint32(/* id 2, wireType 0 =*/16).uint64(message.rev);
                if (message.firstRev != null && $Object.hasOwnProperty.call(message, "firstRev") && (typeof message.firstRev === "object" ? message.firstRev.low || message.firstRev.high : message.firstRev !== 0))
                    writer.uint32(/* id 3, wireType 0 =*/24).uint64(message.firstRev);
                if (message.tag != null && $Object.hasOwnProperty.call(message, "tag") && message.tag !== 0)
                    writer.uint32(/* id 4, wireType 5 =*/37).fixed32(message.tag);
                if (message.seq != null && $Object.hasOwnProperty.call(message, "seq") && (typeof message.seq === "object" ? message.seq.low || message.seq.high : message.seq !== 0))
                    writer.uint32(/* id 5, wireType 0 =*/40).uint64(message.seq);
                if (message.time != null && $Object.hasOwnProperty.call(message, "time") && (typeof message.time === "object" ? message.time.low || message.time.high : message.time !== 0))
                    writer.uint32(/* id 6, wireType 0 =*/48).uint64(message.time);
                if (message.duplicate != null && $Object.hasOwnProperty.call(message, "duplicate") && message.duplicate !== false)
                    writer.uint32(/* id 7, wireType 0 =*/56).bool(message.duplicate);
                if (message.error != null && $Object.hasOwnProperty.call(message, "error"))
                    $root.revcast.producer.Error.encode(message.error, writer.uint32(/* id 8, wireType 2 =*/66).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes an AppendReply message from the specified reader or buffer.
             * @function decode
             * @memberof revcast.producer.AppendReply
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {revcast.producer.AppendReply & revcast.producer.AppendReply.$Shape} AppendReply
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            AppendReply.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.revcast.producer.AppendReply();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.epoch = value;
                            else
                                delete message.epoch;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.rev = value;
                            else
                                delete message.rev;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.firstRev = value;
                            else
                                delete message.firstRev;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 5)
                                break;
                            if (value = reader.fixed32())
                                message.tag = value;
                            else
                                delete message.tag;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.seq = value;
                            else
                                delete message.seq;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.time = value;
                            else
                                delete message.time;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.duplicate = value;
                            else
                                delete message.duplicate;
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            message.error = $root.revcast.producer.Error.decode(reader, reader.size(), $undefined, _depth + 1, message.error);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for AppendReply
             * @function getTypeUrl
             * @memberof revcast.producer.AppendReply
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            AppendReply.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/revcast.producer.AppendReply";
            };

            return AppendReply;
        })();

        producer.Error = (function() {

            /**
             * Properties of an Error.
             * @typedef {Object} revcast.producer.Error.$Properties
             * @property {string|null} [code] Error code
             * @property {string|null} [message] Error message
             * @property {boolean|null} [retryable] Error retryable
             * @property {string|null} [details] Error details
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of an Error.
             * @memberof revcast.producer
             * @interface IError
             * @augments revcast.producer.Error.$Properties
             * @deprecated Use revcast.producer.Error.$Properties instead.
             */

            /**
             * Shape of an Error.
             * @typedef {revcast.producer.Error.$Properties} revcast.producer.Error.$Shape
             */

            /**
             * Constructs a new Error.
             * @memberof revcast.producer
             * @classdesc Represents an Error.
             * @constructor
             * @param {revcast.producer.Error.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const Error = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * Error code.
             * @member {string} code
             * @memberof revcast.producer.Error
             * @instance
             */
            Error.prototype.code = "";

            /**
             * Error message.
             * @member {string} message
             * @memberof revcast.producer.Error
             * @instance
             */
            Error.prototype.message = "";

            /**
             * Error retryable.
             * @member {boolean} retryable
             * @memberof revcast.producer.Error
             * @instance
             */
            Error.prototype.retryable = false;

            /**
             * Error details.
             * @member {string} details
             * @memberof revcast.producer.Error
             * @instance
             */
            Error.prototype.details = "";

            /**
             * Encodes the specified Error message. Does not implicitly {@link revcast.producer.Error.verify|verify} messages.
             * @function encode
             * @memberof revcast.producer.Error
             * @static
             * @param {revcast.producer.Error.$Properties} message Error message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            Error.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.code != null && $Object.hasOwnProperty.call(message, "code") && message.code !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.code);
                if (message.message != null && $Object.hasOwnProperty.call(message, "message") && message.message !== "")
                    writer.uint32(/* id 2, wireType 2 =*/18).string(message.message);
                if (message.retryable != null && $Object.hasOwnProperty.call(message, "retryable") && message.retryable !== false)
                    writer.uint32(/* id 3, wireType 0 =*/24).bool(message.retryable);
                if (message.details != null && $Object.hasOwnProperty.call(message, "details") && message.details !== "")
                    writer.uint32(/* id 4, wireType 2 =*/34).string(message.details);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes an Error message from the specified reader or buffer.
             * @function decode
             * @memberof revcast.producer.Error
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {revcast.producer.Error & revcast.producer.Error.$Shape} Error
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            Error.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.revcast.producer.Error();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.code = value;
                            else
                                delete message.code;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.message = value;
                            else
                                delete message.message;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.retryable = value;
                            else
                                delete message.retryable;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.details = value;
                            else
                                delete message.details;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for Error
             * @function getTypeUrl
             * @memberof revcast.producer.Error
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            Error.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/revcast.producer.Error";
            };

            return Error;
        })();

        return producer;
    })();

    revcast.revision = (function() {

        /**
         * Namespace revision.
         * @memberof revcast
         * @namespace
         */
        const revision = {};

        revision.Position = (function() {

            /**
             * Properties of a Position.
             * @typedef {Object} revcast.revision.Position.$Properties
             * @property {string|null} [epoch] Position epoch
             * @property {number|null} [rev] Position rev
             * @property {number|null} [tag] Position tag
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a Position.
             * @memberof revcast.revision
             * @interface IPosition
             * @augments revcast.revision.Position.$Properties
             * @deprecated Use revcast.revision.Position.$Properties instead.
             */

            /**
             * Shape of a Position.
             * @typedef {revcast.revision.Position.$Properties} revcast.revision.Position.$Shape
             */

            /**
             * Constructs a new Position.
             * @memberof revcast.revision
             * @classdesc Represents a Position.
             * @constructor
             * @param {revcast.revision.Position.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const Position = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * Position epoch.
             * @member {string} epoch
             * @memberof revcast.revision.Position
             * @instance
             */
            Position.prototype.epoch = "";

            /**
             * Position rev.
             * @member {number} rev
             * @memberof revcast.revision.Position
             * @instance
             */
            Position.prototype.rev = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            /**
             * Position tag.
             * @member {number} tag
             * @memberof revcast.revision.Position
             * @instance
             */
            Position.prototype.tag = 0;

            /**
             * Encodes the specified Position message. Does not implicitly {@link revcast.revision.Position.verify|verify} messages.
             * @function encode
             * @memberof revcast.revision.Position
             * @static
             * @param {revcast.revision.Position.$Properties} message Position message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            Position.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.epoch != null && $Object.hasOwnProperty.call(message, "epoch") && message.epoch !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.epoch);
                if (message.rev != null && $Object.hasOwnProperty.call(message, "rev") && (typeof message.rev === "object" ? message.rev.low || message.rev.high : message.rev !== 0))
                    writer.uint32(/* id 2, wireType 0 =*/16).uint64(message.rev);
                if (message.tag != null && $Object.hasOwnProperty.call(message, "tag") && message.tag !== 0)
                    writer.uint32(/* id 3, wireType 5 =*/29).fixed32(message.tag);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a Position message from the specified reader or buffer.
             * @function decode
             * @memberof revcast.revision.Position
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {revcast.revision.Position & revcast.revision.Position.$Shape} Position
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            Position.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.revcast.revision.Position();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.epoch = value;
                            else
                                delete message.epoch;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.rev = value;
                            else
                                delete message.rev;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 5)
                                break;
                            if (value = reader.fixed32())
                                message.tag = value;
                            else
                                delete message.tag;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for Position
             * @function getTypeUrl
             * @memberof revcast.revision.Position
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            Position.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/revcast.revision.Position";
            };

            return Position;
        })();

        revision.Head = (function() {

            /**
             * Properties of a Head.
             * @typedef {Object} revcast.revision.Head.$Properties
             * @property {string|null} [room] Head room
             * @property {revcast.revision.Position.$Properties|null} [position] Head position
             * @property {number|null} [seq] Head seq
             * @property {number|null} [time] Head time
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a Head.
             * @memberof revcast.revision
             * @interface IHead
             * @augments revcast.revision.Head.$Properties
             * @deprecated Use revcast.revision.Head.$Properties instead.
             */

            /**
             * Shape of a Head.
             * @typedef {revcast.revision.Head.$Properties} revcast.revision.Head.$Shape
             */

            /**
             * Constructs a new Head.
             * @memberof revcast.revision
             * @classdesc Represents a Head.
             * @constructor
             * @param {revcast.revision.Head.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const Head = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * Head room.
             * @member {string} room
             * @memberof revcast.revision.Head
             * @instance
             */
            Head.prototype.room = "";

            /**
             * Head position.
             * @member {revcast.revision.Position.$Properties|null|undefined} position
             * @memberof revcast.revision.Head
             * @instance
             */
            Head.prototype.position = null;

            /**
             * Head seq.
             * @member {number} seq
             * @memberof revcast.revision.Head
             * @instance
             */
            Head.prototype.seq = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            /**
             * Head time.
             * @member {number} time
             * @memberof revcast.revision.Head
             * @instance
             */
            Head.prototype.time = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            /**
             * Encodes the specified Head message. Does not implicitly {@link revcast.revision.Head.verify|verify} messages.
             * @function encode
             * @memberof revcast.revision.Head
             * @static
             * @param {revcast.revision.Head.$Properties} message Head message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            Head.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.room != null && $Object.hasOwnProperty.call(message, "room") && message.room !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.room);
                if (message.position != null && $Object.hasOwnProperty.call(message, "position"))
                    $root.revcast.revision.Position.encode(message.position, writer.uint32(/* id 2, wireType 2 =*/18).fork(), _depth + 1).ldelim();
                if (message.seq != null && $Object.hasOwnProperty.call(message, "seq") && (typeof message.seq === "object" ? message.seq.low || message.seq.high : message.seq !== 0))
                    writer.uint32(/* id 3, wireType 0 =*/24).uint64(message.seq);
                if (message.time != null && $Object.hasOwnProperty.call(message, "time") && (typeof message.time === "object" ? message.time.low || message.time.high : message.time !== 0))
                    writer.uint32(/* id 4, wireType 0 =*/32).uint64(message.time);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a Head message from the specified reader or buffer.
             * @function decode
             * @memberof revcast.revision.Head
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {revcast.revision.Head & revcast.revision.Head.$Shape} Head
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            Head.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.revcast.revision.Head();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.room = value;
                            else
                                delete message.room;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.position = $root.revcast.revision.Position.decode(reader, reader.size(), $undefined, _depth + 1, message.position);
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.seq = value;
                            else
                                delete message.seq;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.time = value;
                            else
                                delete message.time;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for Head
             * @function getTypeUrl
             * @memberof revcast.revision.Head
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            Head.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/revcast.revision.Head";
            };

            return Head;
        })();

        revision.KnownPosition = (function() {

            /**
             * Properties of a KnownPosition.
             * @typedef {Object} revcast.revision.KnownPosition.$Properties
             * @property {string|null} [room] KnownPosition room
             * @property {revcast.revision.Position.$Properties|null} [position] KnownPosition position
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a KnownPosition.
             * @memberof revcast.revision
             * @interface IKnownPosition
             * @augments revcast.revision.KnownPosition.$Properties
             * @deprecated Use revcast.revision.KnownPosition.$Properties instead.
             */

            /**
             * Shape of a KnownPosition.
             * @typedef {revcast.revision.KnownPosition.$Properties} revcast.revision.KnownPosition.$Shape
             */

            /**
             * Constructs a new KnownPosition.
             * @memberof revcast.revision
             * @classdesc Represents a KnownPosition.
             * @constructor
             * @param {revcast.revision.KnownPosition.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const KnownPosition = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * KnownPosition room.
             * @member {string} room
             * @memberof revcast.revision.KnownPosition
             * @instance
             */
            KnownPosition.prototype.room = "";

            /**
             * KnownPosition position.
             * @member {revcast.revision.Position.$Properties|null|undefined} position
             * @memberof revcast.revision.KnownPosition
             * @instance
             */
            KnownPosition.prototype.position = null;

            /**
             * Encodes the specified KnownPosition message. Does not implicitly {@link revcast.revision.KnownPosition.verify|verify} messages.
             * @function encode
             * @memberof revcast.revision.KnownPosition
             * @static
             * @param {revcast.revision.KnownPosition.$Properties} message KnownPosition message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            KnownPosition.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.room != null && $Object.hasOwnProperty.call(message, "room") && message.room !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.room);
                if (message.position != null && $Object.hasOwnProperty.call(message, "position"))
                    $root.revcast.revision.Position.encode(message.position, writer.uint32(/* id 2, wireType 2 =*/18).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a KnownPosition message from the specified reader or buffer.
             * @function decode
             * @memberof revcast.revision.KnownPosition
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {revcast.revision.KnownPosition & revcast.revision.KnownPosition.$Shape} KnownPosition
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            KnownPosition.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.revcast.revision.KnownPosition();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.room = value;
                            else
                                delete message.room;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.position = $root.revcast.revision.Position.decode(reader, reader.size(), $undefined, _depth + 1, message.position);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for KnownPosition
             * @function getTypeUrl
             * @memberof revcast.revision.KnownPosition
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            KnownPosition.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/revcast.revision.KnownPosition";
            };

            return KnownPosition;
        })();

        revision.HeadsRequest = (function() {

            /**
             * Properties of a HeadsRequest.
             * @typedef {Object} revcast.revision.HeadsRequest.$Properties
             * @property {Array.<revcast.revision.KnownPosition.$Properties>|null} [rooms] HeadsRequest rooms
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a HeadsRequest.
             * @memberof revcast.revision
             * @interface IHeadsRequest
             * @augments revcast.revision.HeadsRequest.$Properties
             * @deprecated Use revcast.revision.HeadsRequest.$Properties instead.
             */

            /**
             * Shape of a HeadsRequest.
             * @typedef {revcast.revision.HeadsRequest.$Properties} revcast.revision.HeadsRequest.$Shape
             */

            /**
             * Constructs a new HeadsRequest.
             * @memberof revcast.revision
             * @classdesc Represents a HeadsRequest.
             * @constructor
             * @param {revcast.revision.HeadsRequest.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const HeadsRequest = function (properties) {
                this.rooms = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * HeadsRequest rooms.
             * @member {Array.<revcast.revision.KnownPosition.$Properties>} rooms
             * @memberof revcast.revision.HeadsRequest
             * @instance
             */
            HeadsRequest.prototype.rooms = $util.emptyArray;

            /**
             * Encodes the specified HeadsRequest message. Does not implicitly {@link revcast.revision.HeadsRequest.verify|verify} messages.
             * @function encode
             * @memberof revcast.revision.HeadsRequest
             * @static
             * @param {revcast.revision.HeadsRequest.$Properties} message HeadsRequest message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            HeadsRequest.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.rooms != null && message.rooms.length)
                    for (let i = 0; i < message.rooms.length; ++i)
                        $root.revcast.revision.KnownPosition.encode(message.rooms[i], writer.uint32(/* id 1, wireType 2 =*/10).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a HeadsRequest message from the specified reader or buffer.
             * @function decode
             * @memberof revcast.revision.HeadsRequest
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {revcast.revision.HeadsRequest & revcast.revision.HeadsRequest.$Shape} HeadsRequest
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            HeadsRequest.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.revcast.revision.HeadsRequest();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if (!(message.rooms && message.rooms.length))
                                message.rooms = [];
                            message.rooms.push($root.revcast.revision.KnownPosition.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for HeadsRequest
             * @function getTypeUrl
             * @memberof revcast.revision.HeadsRequest
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            HeadsRequest.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/revcast.revision.HeadsRequest";
            };

            return HeadsRequest;
        })();

        revision.HeadsReply = (function() {

            /**
             * Properties of a HeadsReply.
             * @typedef {Object} revcast.revision.HeadsReply.$Properties
             * @property {Array.<revcast.revision.Head.$Properties>|null} [heads] HeadsReply heads
             * @property {revcast.revision.Error.$Properties|null} [error] HeadsReply error
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a HeadsReply.
             * @memberof revcast.revision
             * @interface IHeadsReply
             * @augments revcast.revision.HeadsReply.$Properties
             * @deprecated Use revcast.revision.HeadsReply.$Properties instead.
             */

            /**
             * Shape of a HeadsReply.
             * @typedef {revcast.revision.HeadsReply.$Properties} revcast.revision.HeadsReply.$Shape
             */

            /**
             * Constructs a new HeadsReply.
             * @memberof revcast.revision
             * @classdesc Represents a HeadsReply.
             * @constructor
             * @param {revcast.revision.HeadsReply.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const HeadsReply = function (properties) {
                this.heads = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * HeadsReply heads.
             * @member {Array.<revcast.revision.Head.$Properties>} heads
             * @memberof revcast.revision.HeadsReply
             * @instance
             */
            HeadsReply.prototype.heads = $util.emptyArray;

            /**
             * HeadsReply error.
             * @member {revcast.revision.Error.$Properties|null|undefined} error
             * @memberof revcast.revision.HeadsReply
             * @instance
             */
            HeadsReply.prototype.error = null;

            /**
             * Encodes the specified HeadsReply message. Does not implicitly {@link revcast.revision.HeadsReply.verify|verify} messages.
             * @function encode
             * @memberof revcast.revision.HeadsReply
             * @static
             * @param {revcast.revision.HeadsReply.$Properties} message HeadsReply message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            HeadsReply.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.heads != null && message.heads.length)
                    for (let i = 0; i < message.heads.length; ++i)
                        $root.revcast.revision.Head.encode(message.heads[i], writer.uint32(/* id 1, wireType 2 =*/10).fork(), _depth + 1).ldelim();
                if (message.error != null && $Object.hasOwnProperty.call(message, "error"))
                    $root.revcast.revision.Error.encode(message.error, writer.uint32(/* id 2, wireType 2 =*/18).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a HeadsReply message from the specified reader or buffer.
             * @function decode
             * @memberof revcast.revision.HeadsReply
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {revcast.revision.HeadsReply & revcast.revision.HeadsReply.$Shape} HeadsReply
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            HeadsReply.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.revcast.revision.HeadsReply();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if (!(message.heads && message.heads.length))
                                message.heads = [];
                            message.heads.push($root.revcast.revision.Head.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.error = $root.revcast.revision.Error.decode(reader, reader.size(), $undefined, _depth + 1, message.error);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for HeadsReply
             * @function getTypeUrl
             * @memberof revcast.revision.HeadsReply
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            HeadsReply.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/revcast.revision.HeadsReply";
            };

            return HeadsReply;
        })();

        revision.RangeRequest = (function() {

            /**
             * Properties of a RangeRequest.
             * @typedef {Object} revcast.revision.RangeRequest.$Properties
             * @property {string|null} [room] RangeRequest room
             * @property {revcast.revision.Position.$Properties|null} [after] RangeRequest after
             * @property {number|null} [limit] RangeRequest limit
             * @property {number|null} [maxBytes] RangeRequest maxBytes
             * @property {number|null} [hint] RangeRequest hint
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a RangeRequest.
             * @memberof revcast.revision
             * @interface IRangeRequest
             * @augments revcast.revision.RangeRequest.$Properties
             * @deprecated Use revcast.revision.RangeRequest.$Properties instead.
             */

            /**
             * Shape of a RangeRequest.
             * @typedef {revcast.revision.RangeRequest.$Properties} revcast.revision.RangeRequest.$Shape
             */

            /**
             * Constructs a new RangeRequest.
             * @memberof revcast.revision
             * @classdesc Represents a RangeRequest.
             * @constructor
             * @param {revcast.revision.RangeRequest.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const RangeRequest = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * RangeRequest room.
             * @member {string} room
             * @memberof revcast.revision.RangeRequest
             * @instance
             */
            RangeRequest.prototype.room = "";

            /**
             * RangeRequest after.
             * @member {revcast.revision.Position.$Properties|null|undefined} after
             * @memberof revcast.revision.RangeRequest
             * @instance
             */
            RangeRequest.prototype.after = null;

            /**
             * RangeRequest limit.
             * @member {number} limit
             * @memberof revcast.revision.RangeRequest
             * @instance
             */
            RangeRequest.prototype.limit = 0;

            /**
             * RangeRequest maxBytes.
             * @member {number} maxBytes
             * @memberof revcast.revision.RangeRequest
             * @instance
             */
            RangeRequest.prototype.maxBytes = 0;

            /**
             * RangeRequest hint.
             * @member {number} hint
             * @memberof revcast.revision.RangeRequest
             * @instance
             */
            RangeRequest.prototype.hint = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            /**
             * Encodes the specified RangeRequest message. Does not implicitly {@link revcast.revision.RangeRequest.verify|verify} messages.
             * @function encode
             * @memberof revcast.revision.RangeRequest
             * @static
             * @param {revcast.revision.RangeRequest.$Properties} message RangeRequest message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            RangeRequest.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.room != null && $Object.hasOwnProperty.call(message, "room") && message.room !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.room);
                if (message.after != null && $Object.hasOwnProperty.call(message, "after"))
                    $root.revcast.revision.Position.encode(message.after, writer.uint32(/* id 2, wireType 2 =*/18).fork(), _depth + 1).ldelim();
                if (message.limit != null && $Object.hasOwnProperty.call(message, "limit") && message.limit !== 0)
                    writer.uint32(/* id 3, wireType 0 =*/24).uint32(message.limit);
                if (message.maxBytes != null && $Object.hasOwnProperty.call(message, "maxBytes") && message.maxBytes !== 0)
                    writer.uint32(/* id 4, wireType 0 =*/32).uint32(message.maxBytes);
                if (message.hint != null && $Object.hasOwnProperty.call(message, "hint") && (typeof message.hint === "object" ? message.hint.low || message.hint.high : message.hint !== 0))
                    writer.uint32(/* id 5, wireType 0 =*/40).uint64(message.hint);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a RangeRequest message from the specified reader or buffer.
             * @function decode
             * @memberof revcast.revision.RangeRequest
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {revcast.revision.RangeRequest & revcast.revision.RangeRequest.$Shape} RangeRequest
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            RangeRequest.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.revcast.revision.RangeRequest();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.room = value;
                            else
                                delete message.room;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.after = $root.revcast.revision.Position.decode(reader, reader.size(), $undefined, _depth + 1, message.after);
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.limit = value;
                            else
                                delete message.limit;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.maxBytes = value;
                            else
                                delete message.maxBytes;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.hint = value;
                            else
                                delete message.hint;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for RangeRequest
             * @function getTypeUrl
             * @memberof revcast.revision.RangeRequest
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            RangeRequest.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/revcast.revision.RangeRequest";
            };

            return RangeRequest;
        })();

        revision.RangeReply = (function() {

            /**
             * Properties of a RangeReply.
             * @typedef {Object} revcast.revision.RangeReply.$Properties
             * @property {Array.<revcast.revision.RangeEntry.$Properties>|null} [entries] RangeReply entries
             * @property {revcast.revision.Head.$Properties|null} [head] RangeReply head
             * @property {revcast.revision.Error.$Properties|null} [error] RangeReply error
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a RangeReply.
             * @memberof revcast.revision
             * @interface IRangeReply
             * @augments revcast.revision.RangeReply.$Properties
             * @deprecated Use revcast.revision.RangeReply.$Properties instead.
             */

            /**
             * Shape of a RangeReply.
             * @typedef {revcast.revision.RangeReply.$Properties} revcast.revision.RangeReply.$Shape
             */

            /**
             * Constructs a new RangeReply.
             * @memberof revcast.revision
             * @classdesc Represents a RangeReply.
             * @constructor
             * @param {revcast.revision.RangeReply.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const RangeReply = function (properties) {
                this.entries = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * RangeReply entries.
             * @member {Array.<revcast.revision.RangeEntry.$Properties>} entries
             * @memberof revcast.revision.RangeReply
             * @instance
             */
            RangeReply.prototype.entries = $util.emptyArray;

            /**
             * RangeReply head.
             * @member {revcast.revision.Head.$Properties|null|undefined} head
             * @memberof revcast.revision.RangeReply
             * @instance
             */
            RangeReply.prototype.head = null;

            /**
             * RangeReply error.
             * @member {revcast.revision.Error.$Properties|null|undefined} error
             * @memberof revcast.revision.RangeReply
             * @instance
             */
            RangeReply.prototype.error = null;

            /**
             * Encodes the specified RangeReply message. Does not implicitly {@link revcast.revision.RangeReply.verify|verify} messages.
             * @function encode
             * @memberof revcast.revision.RangeReply
             * @static
             * @param {revcast.revision.RangeReply.$Properties} message RangeReply message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            RangeReply.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.entries != null && message.entries.length)
                    for (let i = 0; i < message.entries.length; ++i)
                        $root.revcast.revision.RangeEntry.encode(message.entries[i], writer.uint32(/* id 1, wireType 2 =*/10).fork(), _depth + 1).ldelim();
                if (message.head != null && $Object.hasOwnProperty.call(message, "head"))
                    $root.revcast.revision.Head.encode(message.head, writer.uint32(/* id 2, wireType 2 =*/18).fork(), _depth + 1).ldelim();
                if (message.error != null && $Object.hasOwnProperty.call(message, "error"))
                    $root.revcast.revision.Error.encode(message.error, writer.uint32(/* id 3, wireType 2 =*/26).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a RangeReply message from the specified reader or buffer.
             * @function decode
             * @memberof revcast.revision.RangeReply
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {revcast.revision.RangeReply & revcast.revision.RangeReply.$Shape} RangeReply
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            RangeReply.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.revcast.revision.RangeReply();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if (!(message.entries && message.entries.length))
                                message.entries = [];
                            message.entries.push($root.revcast.revision.RangeEntry.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.head = $root.revcast.revision.Head.decode(reader, reader.size(), $undefined, _depth + 1, message.head);
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            message.error = $root.revcast.revision.Error.decode(reader, reader.size(), $undefined, _depth + 1, message.error);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for RangeReply
             * @function getTypeUrl
             * @memberof revcast.revision.RangeReply
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            RangeReply.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/revcast.revision.RangeReply";
            };

            return RangeReply;
        })();

        revision.RangeEntry = (function() {

            /**
             * Properties of a RangeEntry.
             * @typedef {Object} revcast.revision.RangeEntry.$Properties
             * @property {revcast.log.Entry.$Properties|null} [entry] RangeEntry entry
             * @property {number|null} [seq] RangeEntry seq
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a RangeEntry.
             * @memberof revcast.revision
             * @interface IRangeEntry
             * @augments revcast.revision.RangeEntry.$Properties
             * @deprecated Use revcast.revision.RangeEntry.$Properties instead.
             */

            /**
             * Shape of a RangeEntry.
             * @typedef {revcast.revision.RangeEntry.$Properties} revcast.revision.RangeEntry.$Shape
             */

            /**
             * Constructs a new RangeEntry.
             * @memberof revcast.revision
             * @classdesc Represents a RangeEntry.
             * @constructor
             * @param {revcast.revision.RangeEntry.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const RangeEntry = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * RangeEntry entry.
             * @member {revcast.log.Entry.$Properties|null|undefined} entry
             * @memberof revcast.revision.RangeEntry
             * @instance
             */
            RangeEntry.prototype.entry = null;

            /**
             * RangeEntry seq.
             * @member {number} seq
             * @memberof revcast.revision.RangeEntry
             * @instance
             */
            RangeEntry.prototype.seq = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            /**
             * Encodes the specified RangeEntry message. Does not implicitly {@link revcast.revision.RangeEntry.verify|verify} messages.
             * @function encode
             * @memberof revcast.revision.RangeEntry
             * @static
             * @param {revcast.revision.RangeEntry.$Properties} message RangeEntry message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            RangeEntry.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.entry != null && $Object.hasOwnProperty.call(message, "entry"))
                    $root.revcast.log.Entry.encode(message.entry, writer.uint32(/* id 1, wireType 2 =*/10).fork(), _depth + 1).ldelim();
                if (message.seq != null && $Object.hasOwnProperty.call(message, "seq") && (typeof message.seq === "object" ? message.seq.low || message.seq.high : message.seq !== 0))
                    writer.uint32(/* id 2, wireType 0 =*/16).uint64(message.seq);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a RangeEntry message from the specified reader or buffer.
             * @function decode
             * @memberof revcast.revision.RangeEntry
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {revcast.revision.RangeEntry & revcast.revision.RangeEntry.$Shape} RangeEntry
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            RangeEntry.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.revcast.revision.RangeEntry();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            message.entry = $root.revcast.log.Entry.decode(reader, reader.size(), $undefined, _depth + 1, message.entry);
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.seq = value;
                            else
                                delete message.seq;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for RangeEntry
             * @function getTypeUrl
             * @memberof revcast.revision.RangeEntry
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            RangeEntry.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/revcast.revision.RangeEntry";
            };

            return RangeEntry;
        })();

        revision.SnapshotRequest = (function() {

            /**
             * Properties of a SnapshotRequest.
             * @typedef {Object} revcast.revision.SnapshotRequest.$Properties
             * @property {string|null} [room] SnapshotRequest room
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a SnapshotRequest.
             * @memberof revcast.revision
             * @interface ISnapshotRequest
             * @augments revcast.revision.SnapshotRequest.$Properties
             * @deprecated Use revcast.revision.SnapshotRequest.$Properties instead.
             */

            /**
             * Shape of a SnapshotRequest.
             * @typedef {revcast.revision.SnapshotRequest.$Properties} revcast.revision.SnapshotRequest.$Shape
             */

            /**
             * Constructs a new SnapshotRequest.
             * @memberof revcast.revision
             * @classdesc Represents a SnapshotRequest.
             * @constructor
             * @param {revcast.revision.SnapshotRequest.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const SnapshotRequest = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * SnapshotRequest room.
             * @member {string} room
             * @memberof revcast.revision.SnapshotRequest
             * @instance
             */
            SnapshotRequest.prototype.room = "";

            /**
             * Encodes the specified SnapshotRequest message. Does not implicitly {@link revcast.revision.SnapshotRequest.verify|verify} messages.
             * @function encode
             * @memberof revcast.revision.SnapshotRequest
             * @static
             * @param {revcast.revision.SnapshotRequest.$Properties} message SnapshotRequest message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            SnapshotRequest.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.room != null && $Object.hasOwnProperty.call(message, "room") && message.room !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.room);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a SnapshotRequest message from the specified reader or buffer.
             * @function decode
             * @memberof revcast.revision.SnapshotRequest
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {revcast.revision.SnapshotRequest & revcast.revision.SnapshotRequest.$Shape} SnapshotRequest
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            SnapshotRequest.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.revcast.revision.SnapshotRequest();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.room = value;
                            else
                                delete message.room;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for SnapshotRequest
             * @function getTypeUrl
             * @memberof revcast.revision.SnapshotRequest
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            SnapshotRequest.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/revcast.revision.SnapshotRequest";
            };

            return SnapshotRequest;
        })();

        revision.SnapshotReply = (function() {

            /**
             * Properties of a SnapshotReply.
             * @typedef {Object} revcast.revision.SnapshotReply.$Properties
             * @property {revcast.log.Snapshot.$Properties|null} [snapshot] SnapshotReply snapshot
             * @property {revcast.revision.Head.$Properties|null} [head] SnapshotReply head
             * @property {revcast.revision.Error.$Properties|null} [error] SnapshotReply error
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a SnapshotReply.
             * @memberof revcast.revision
             * @interface ISnapshotReply
             * @augments revcast.revision.SnapshotReply.$Properties
             * @deprecated Use revcast.revision.SnapshotReply.$Properties instead.
             */

            /**
             * Shape of a SnapshotReply.
             * @typedef {revcast.revision.SnapshotReply.$Properties} revcast.revision.SnapshotReply.$Shape
             */

            /**
             * Constructs a new SnapshotReply.
             * @memberof revcast.revision
             * @classdesc Represents a SnapshotReply.
             * @constructor
             * @param {revcast.revision.SnapshotReply.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const SnapshotReply = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * SnapshotReply snapshot.
             * @member {revcast.log.Snapshot.$Properties|null|undefined} snapshot
             * @memberof revcast.revision.SnapshotReply
             * @instance
             */
            SnapshotReply.prototype.snapshot = null;

            /**
             * SnapshotReply head.
             * @member {revcast.revision.Head.$Properties|null|undefined} head
             * @memberof revcast.revision.SnapshotReply
             * @instance
             */
            SnapshotReply.prototype.head = null;

            /**
             * SnapshotReply error.
             * @member {revcast.revision.Error.$Properties|null|undefined} error
             * @memberof revcast.revision.SnapshotReply
             * @instance
             */
            SnapshotReply.prototype.error = null;

            /**
             * Encodes the specified SnapshotReply message. Does not implicitly {@link revcast.revision.SnapshotReply.verify|verify} messages.
             * @function encode
             * @memberof revcast.revision.SnapshotReply
             * @static
             * @param {revcast.revision.SnapshotReply.$Properties} message SnapshotReply message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            SnapshotReply.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.snapshot != null && $Object.hasOwnProperty.call(message, "snapshot"))
                    $root.revcast.log.Snapshot.encode(message.snapshot, writer.uint32(/* id 1, wireType 2 =*/10).fork(), _depth + 1).ldelim();
                if (message.head != null && $Object.hasOwnProperty.call(message, "head"))
                    $root.revcast.revision.Head.encode(message.head, writer.uint32(/* id 2, wireType 2 =*/18).fork(), _depth + 1).ldelim();
                if (message.error != null && $Object.hasOwnProperty.call(message, "error"))
                    $root.revcast.revision.Error.encode(message.error, writer.uint32(/* id 3, wireType 2 =*/26).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a SnapshotReply message from the specified reader or buffer.
             * @function decode
             * @memberof revcast.revision.SnapshotReply
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {revcast.revision.SnapshotReply & revcast.revision.SnapshotReply.$Shape} SnapshotReply
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            SnapshotReply.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.revcast.revision.SnapshotReply();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            message.snapshot = $root.revcast.log.Snapshot.decode(reader, reader.size(), $undefined, _depth + 1, message.snapshot);
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.head = $root.revcast.revision.Head.decode(reader, reader.size(), $undefined, _depth + 1, message.head);
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            message.error = $root.revcast.revision.Error.decode(reader, reader.size(), $undefined, _depth + 1, message.error);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for SnapshotReply
             * @function getTypeUrl
             * @memberof revcast.revision.SnapshotReply
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            SnapshotReply.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/revcast.revision.SnapshotReply";
            };

            return SnapshotReply;
        })();

        revision.Error = (function() {

            /**
             * Properties of an Error.
             * @typedef {Object} revcast.revision.Error.$Properties
             * @property {string|null} [code] Error code
             * @property {string|null} [message] Error message
             * @property {boolean|null} [retryable] Error retryable
             * @property {number|null} [firstRev] Error firstRev
             * @property {revcast.revision.Head.$Properties|null} [head] Error head
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of an Error.
             * @memberof revcast.revision
             * @interface IError
             * @augments revcast.revision.Error.$Properties
             * @deprecated Use revcast.revision.Error.$Properties instead.
             */

            /**
             * Shape of an Error.
             * @typedef {revcast.revision.Error.$Properties} revcast.revision.Error.$Shape
             */

            /**
             * Constructs a new Error.
             * @memberof revcast.revision
             * @classdesc Represents an Error.
             * @constructor
             * @param {revcast.revision.Error.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const Error = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * Error code.
             * @member {string} code
             * @memberof revcast.revision.Error
             * @instance
             */
            Error.prototype.code = "";

            /**
             * Error message.
             * @member {string} message
             * @memberof revcast.revision.Error
             * @instance
             */
            Error.prototype.message = "";

            /**
             * Error retryable.
             * @member {boolean} retryable
             * @memberof revcast.revision.Error
             * @instance
             */
            Error.prototype.retryable = false;

            /**
             * Error firstRev.
             * @member {number} firstRev
             * @memberof revcast.revision.Error
             * @instance
             */
            Error.prototype.firstRev = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            /**
             * Error head.
             * @member {revcast.revision.Head.$Properties|null|undefined} head
             * @memberof revcast.revision.Error
             * @instance
             */
            Error.prototype.head = null;

            /**
             * Encodes the specified Error message. Does not implicitly {@link revcast.revision.Error.verify|verify} messages.
             * @function encode
             * @memberof revcast.revision.Error
             * @static
             * @param {revcast.revision.Error.$Properties} message Error message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            Error.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.code != null && $Object.hasOwnProperty.call(message, "code") && message.code !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.code);
                if (message.message != null && $Object.hasOwnProperty.call(message, "message") && message.message !== "")
                    writer.uint32(/* id 2, wireType 2 =*/18).string(message.message);
                if (message.retryable != null && $Object.hasOwnProperty.call(message, "retryable") && message.retryable !== false)
                    writer.uint32(/* id 3, wireType 0 =*/24).bool(message.retryable);
                if (message.firstRev != null && $Object.hasOwnProperty.call(message, "firstRev") && (typeof message.firstRev === "object" ? message.firstRev.low || message.firstRev.high : message.firstRev !== 0))
                    writer.uint32(/* id 4, wireType 0 =*/32).uint64(message.firstRev);
                if (message.head != null && $Object.hasOwnProperty.call(message, "head"))
                    $root.revcast.revision.Head.encode(message.head, writer.uint32(/* id 5, wireType 2 =*/42).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes an Error message from the specified reader or buffer.
             * @function decode
             * @memberof revcast.revision.Error
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {revcast.revision.Error & revcast.revision.Error.$Shape} Error
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            Error.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.revcast.revision.Error();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.code = value;
                            else
                                delete message.code;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.message = value;
                            else
                                delete message.message;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.retryable = value;
                            else
                                delete message.retryable;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.firstRev = value;
                            else
                                delete message.firstRev;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            message.head = $root.revcast.revision.Head.decode(reader, reader.size(), $undefined, _depth + 1, message.head);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for Error
             * @function getTypeUrl
             * @memberof revcast.revision.Error
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            Error.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/revcast.revision.Error";
            };

            return Error;
        })();

        return revision;
    })();

    return revcast;
})();

export {
  $root as default
};
