import * as $protobuf from "protobufjs";
import Long = require("long");

/** Namespace revcast. */
export namespace revcast {

    /** Namespace log. */
    namespace log {

        /**
         * Properties of an Entry.
         * @deprecated Use revcast.log.Entry.$Properties instead.
         */
        interface IEntry extends revcast.log.Entry.$Properties {
        }

        /** Represents an Entry. */
        class Entry {

            /**
             * Constructs a new Entry.
             * @param [properties] Properties to set
             */
            constructor(properties?: revcast.log.Entry.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Entry room. */
            room: string;

            /** Entry epoch. */
            epoch: string;

            /** Entry tag. */
            tag: number;

            /** Entry appendId. */
            appendId: Uint8Array;

            /** Entry firstRev. */
            firstRev: number;

            /** Entry previousTime. */
            previousTime: number;

            /** Entry revisions. */
            revisions: revcast.log.StoredRevision.$Properties[];

            /** Entry previousSeq. */
            previousSeq: number;

            /** Entry base. */
            base: Uint8Array;

            /** Entry previousTag. */
            previousTag: number;

            /**
             * Encodes the specified Entry message. Does not implicitly {@link revcast.log.Entry.verify|verify} messages.
             * @param message Entry message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: revcast.log.Entry.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes an Entry message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {revcast.log.Entry & revcast.log.Entry.$Shape} Entry
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): revcast.log.Entry & revcast.log.Entry.$Shape;

            /**
             * Gets the type url for Entry
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace Entry {

            /** Properties of an Entry. */
            interface $Properties {

                /** Entry room */
                room?: (string|null);

                /** Entry epoch */
                epoch?: (string|null);

                /** Entry tag */
                tag?: (number|null);

                /** Entry appendId */
                appendId?: (Uint8Array|null);

                /** Entry firstRev */
                firstRev?: (number|null);

                /** Entry previousTime */
                previousTime?: (number|null);

                /** Entry revisions */
                revisions?: (revcast.log.StoredRevision.$Properties[]|null);

                /** Entry previousSeq */
                previousSeq?: (number|null);

                /** Entry base */
                base?: (Uint8Array|null);

                /** Entry previousTag */
                previousTag?: (number|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of an Entry. */
            type $Shape = revcast.log.Entry.$Properties;
        }

        /**
         * Properties of a Snapshot.
         * @deprecated Use revcast.log.Snapshot.$Properties instead.
         */
        interface ISnapshot extends revcast.log.Snapshot.$Properties {
        }

        /** Represents a Snapshot. */
        class Snapshot {

            /**
             * Constructs a new Snapshot.
             * @param [properties] Properties to set
             */
            constructor(properties?: revcast.log.Snapshot.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Snapshot room. */
            room: string;

            /** Snapshot epoch. */
            epoch: string;

            /** Snapshot rev. */
            rev: number;

            /** Snapshot tag. */
            tag: number;

            /** Snapshot time. */
            time: number;

            /** Snapshot data. */
            data: Uint8Array;

            /**
             * Encodes the specified Snapshot message. Does not implicitly {@link revcast.log.Snapshot.verify|verify} messages.
             * @param message Snapshot message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: revcast.log.Snapshot.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Snapshot message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {revcast.log.Snapshot & revcast.log.Snapshot.$Shape} Snapshot
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): revcast.log.Snapshot & revcast.log.Snapshot.$Shape;

            /**
             * Gets the type url for Snapshot
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace Snapshot {

            /** Properties of a Snapshot. */
            interface $Properties {

                /** Snapshot room */
                room?: (string|null);

                /** Snapshot epoch */
                epoch?: (string|null);

                /** Snapshot rev */
                rev?: (number|null);

                /** Snapshot tag */
                tag?: (number|null);

                /** Snapshot time */
                time?: (number|null);

                /** Snapshot data */
                data?: (Uint8Array|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Snapshot. */
            type $Shape = revcast.log.Snapshot.$Properties;
        }

        /**
         * Properties of a StoredRevision.
         * @deprecated Use revcast.log.StoredRevision.$Properties instead.
         */
        interface IStoredRevision extends revcast.log.StoredRevision.$Properties {
        }

        /** Represents a StoredRevision. */
        class StoredRevision {

            /**
             * Constructs a new StoredRevision.
             * @param [properties] Properties to set
             */
            constructor(properties?: revcast.log.StoredRevision.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** StoredRevision time. */
            time: number;

            /** StoredRevision author. */
            author: string;

            /** StoredRevision data. */
            data: Uint8Array;

            /** StoredRevision key. */
            key: string;

            /** StoredRevision appendSize. */
            appendSize: number;

            /**
             * Encodes the specified StoredRevision message. Does not implicitly {@link revcast.log.StoredRevision.verify|verify} messages.
             * @param message StoredRevision message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: revcast.log.StoredRevision.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a StoredRevision message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {revcast.log.StoredRevision & revcast.log.StoredRevision.$Shape} StoredRevision
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): revcast.log.StoredRevision & revcast.log.StoredRevision.$Shape;

            /**
             * Gets the type url for StoredRevision
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace StoredRevision {

            /** Properties of a StoredRevision. */
            interface $Properties {

                /** StoredRevision time */
                time?: (number|null);

                /** StoredRevision author */
                author?: (string|null);

                /** StoredRevision data */
                data?: (Uint8Array|null);

                /** StoredRevision key */
                key?: (string|null);

                /** StoredRevision appendSize */
                appendSize?: (number|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a StoredRevision. */
            type $Shape = revcast.log.StoredRevision.$Properties;
        }
    }

    /** Namespace producer. */
    namespace producer {

        /**
         * Properties of an AppendRequest.
         * @deprecated Use revcast.producer.AppendRequest.$Properties instead.
         */
        interface IAppendRequest extends revcast.producer.AppendRequest.$Properties {
        }

        /** Represents an AppendRequest. */
        class AppendRequest {

            /**
             * Constructs a new AppendRequest.
             * @param [properties] Properties to set
             */
            constructor(properties?: revcast.producer.AppendRequest.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** AppendRequest room. */
            room: string;

            /** AppendRequest data. */
            data: Uint8Array;

            /** AppendRequest key. */
            key: string;

            /** AppendRequest expectedRev. */
            expectedRev?: (number|null);

            /**
             * Encodes the specified AppendRequest message. Does not implicitly {@link revcast.producer.AppendRequest.verify|verify} messages.
             * @param message AppendRequest message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: revcast.producer.AppendRequest.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes an AppendRequest message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {revcast.producer.AppendRequest & revcast.producer.AppendRequest.$Shape} AppendRequest
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): revcast.producer.AppendRequest & revcast.producer.AppendRequest.$Shape;

            /**
             * Gets the type url for AppendRequest
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace AppendRequest {

            /** Properties of an AppendRequest. */
            interface $Properties {

                /** AppendRequest room */
                room?: (string|null);

                /** AppendRequest data */
                data?: (Uint8Array|null);

                /** AppendRequest key */
                key?: (string|null);

                /** AppendRequest expectedRev */
                expectedRev?: (number|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of an AppendRequest. */
            type $Shape = revcast.producer.AppendRequest.$Properties;
        }

        /**
         * Properties of an AppendReply.
         * @deprecated Use revcast.producer.AppendReply.$Properties instead.
         */
        interface IAppendReply extends revcast.producer.AppendReply.$Properties {
        }

        /** Represents an AppendReply. */
        class AppendReply {

            /**
             * Constructs a new AppendReply.
             * @param [properties] Properties to set
             */
            constructor(properties?: revcast.producer.AppendReply.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** AppendReply epoch. */
            epoch: string;

            /** AppendReply rev. */
            rev: number;

            /** AppendReply firstRev. */
            firstRev: number;

            /** AppendReply tag. */
            tag: number;

            /** AppendReply seq. */
            seq: number;

            /** AppendReply time. */
            time: number;

            /** AppendReply duplicate. */
            duplicate: boolean;

            /** AppendReply error. */
            error?: (revcast.producer.Error.$Properties|null);

            /**
             * Encodes the specified AppendReply message. Does not implicitly {@link revcast.producer.AppendReply.verify|verify} messages.
             * @param message AppendReply message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: revcast.producer.AppendReply.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes an AppendReply message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {revcast.producer.AppendReply & revcast.producer.AppendReply.$Shape} AppendReply
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): revcast.producer.AppendReply & revcast.producer.AppendReply.$Shape;

            /**
             * Gets the type url for AppendReply
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace AppendReply {

            /** Properties of an AppendReply. */
            interface $Properties {

                /** AppendReply epoch */
                epoch?: (string|null);

                /** AppendReply rev */
                rev?: (number|null);

                /** AppendReply firstRev */
                firstRev?: (number|null);

                /** AppendReply tag */
                tag?: (number|null);

                /** AppendReply seq */
                seq?: (number|null);

                /** AppendReply time */
                time?: (number|null);

                /** AppendReply duplicate */
                duplicate?: (boolean|null);

                /** AppendReply error */
                error?: (revcast.producer.Error.$Properties|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of an AppendReply. */
            type $Shape = revcast.producer.AppendReply.$Properties;
        }

        /**
         * Properties of an Error.
         * @deprecated Use revcast.producer.Error.$Properties instead.
         */
        interface IError extends revcast.producer.Error.$Properties {
        }

        /** Represents an Error. */
        class Error {

            /**
             * Constructs a new Error.
             * @param [properties] Properties to set
             */
            constructor(properties?: revcast.producer.Error.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Error code. */
            code: string;

            /** Error message. */
            message: string;

            /** Error retryable. */
            retryable: boolean;

            /** Error details. */
            details: string;

            /**
             * Encodes the specified Error message. Does not implicitly {@link revcast.producer.Error.verify|verify} messages.
             * @param message Error message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: revcast.producer.Error.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes an Error message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {revcast.producer.Error & revcast.producer.Error.$Shape} Error
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): revcast.producer.Error & revcast.producer.Error.$Shape;

            /**
             * Gets the type url for Error
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace Error {

            /** Properties of an Error. */
            interface $Properties {

                /** Error code */
                code?: (string|null);

                /** Error message */
                message?: (string|null);

                /** Error retryable */
                retryable?: (boolean|null);

                /** Error details */
                details?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of an Error. */
            type $Shape = revcast.producer.Error.$Properties;
        }
    }

    /** Namespace revision. */
    namespace revision {

        /**
         * Properties of a Position.
         * @deprecated Use revcast.revision.Position.$Properties instead.
         */
        interface IPosition extends revcast.revision.Position.$Properties {
        }

        /** Represents a Position. */
        class Position {

            /**
             * Constructs a new Position.
             * @param [properties] Properties to set
             */
            constructor(properties?: revcast.revision.Position.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Position epoch. */
            epoch: string;

            /** Position rev. */
            rev: number;

            /** Position tag. */
            tag: number;

            /**
             * Encodes the specified Position message. Does not implicitly {@link revcast.revision.Position.verify|verify} messages.
             * @param message Position message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: revcast.revision.Position.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Position message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {revcast.revision.Position & revcast.revision.Position.$Shape} Position
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): revcast.revision.Position & revcast.revision.Position.$Shape;

            /**
             * Gets the type url for Position
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace Position {

            /** Properties of a Position. */
            interface $Properties {

                /** Position epoch */
                epoch?: (string|null);

                /** Position rev */
                rev?: (number|null);

                /** Position tag */
                tag?: (number|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Position. */
            type $Shape = revcast.revision.Position.$Properties;
        }

        /**
         * Properties of a Head.
         * @deprecated Use revcast.revision.Head.$Properties instead.
         */
        interface IHead extends revcast.revision.Head.$Properties {
        }

        /** Represents a Head. */
        class Head {

            /**
             * Constructs a new Head.
             * @param [properties] Properties to set
             */
            constructor(properties?: revcast.revision.Head.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Head room. */
            room: string;

            /** Head position. */
            position?: (revcast.revision.Position.$Properties|null);

            /** Head seq. */
            seq: number;

            /** Head time. */
            time: number;

            /**
             * Encodes the specified Head message. Does not implicitly {@link revcast.revision.Head.verify|verify} messages.
             * @param message Head message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: revcast.revision.Head.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Head message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {revcast.revision.Head & revcast.revision.Head.$Shape} Head
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): revcast.revision.Head & revcast.revision.Head.$Shape;

            /**
             * Gets the type url for Head
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace Head {

            /** Properties of a Head. */
            interface $Properties {

                /** Head room */
                room?: (string|null);

                /** Head position */
                position?: (revcast.revision.Position.$Properties|null);

                /** Head seq */
                seq?: (number|null);

                /** Head time */
                time?: (number|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Head. */
            type $Shape = revcast.revision.Head.$Properties;
        }

        /**
         * Properties of a KnownPosition.
         * @deprecated Use revcast.revision.KnownPosition.$Properties instead.
         */
        interface IKnownPosition extends revcast.revision.KnownPosition.$Properties {
        }

        /** Represents a KnownPosition. */
        class KnownPosition {

            /**
             * Constructs a new KnownPosition.
             * @param [properties] Properties to set
             */
            constructor(properties?: revcast.revision.KnownPosition.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** KnownPosition room. */
            room: string;

            /** KnownPosition position. */
            position?: (revcast.revision.Position.$Properties|null);

            /**
             * Encodes the specified KnownPosition message. Does not implicitly {@link revcast.revision.KnownPosition.verify|verify} messages.
             * @param message KnownPosition message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: revcast.revision.KnownPosition.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a KnownPosition message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {revcast.revision.KnownPosition & revcast.revision.KnownPosition.$Shape} KnownPosition
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): revcast.revision.KnownPosition & revcast.revision.KnownPosition.$Shape;

            /**
             * Gets the type url for KnownPosition
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace KnownPosition {

            /** Properties of a KnownPosition. */
            interface $Properties {

                /** KnownPosition room */
                room?: (string|null);

                /** KnownPosition position */
                position?: (revcast.revision.Position.$Properties|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a KnownPosition. */
            type $Shape = revcast.revision.KnownPosition.$Properties;
        }

        /**
         * Properties of a HeadsRequest.
         * @deprecated Use revcast.revision.HeadsRequest.$Properties instead.
         */
        interface IHeadsRequest extends revcast.revision.HeadsRequest.$Properties {
        }

        /** Represents a HeadsRequest. */
        class HeadsRequest {

            /**
             * Constructs a new HeadsRequest.
             * @param [properties] Properties to set
             */
            constructor(properties?: revcast.revision.HeadsRequest.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** HeadsRequest rooms. */
            rooms: revcast.revision.KnownPosition.$Properties[];

            /**
             * Encodes the specified HeadsRequest message. Does not implicitly {@link revcast.revision.HeadsRequest.verify|verify} messages.
             * @param message HeadsRequest message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: revcast.revision.HeadsRequest.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a HeadsRequest message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {revcast.revision.HeadsRequest & revcast.revision.HeadsRequest.$Shape} HeadsRequest
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): revcast.revision.HeadsRequest & revcast.revision.HeadsRequest.$Shape;

            /**
             * Gets the type url for HeadsRequest
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace HeadsRequest {

            /** Properties of a HeadsRequest. */
            interface $Properties {

                /** HeadsRequest rooms */
                rooms?: (revcast.revision.KnownPosition.$Properties[]|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a HeadsRequest. */
            type $Shape = revcast.revision.HeadsRequest.$Properties;
        }

        /**
         * Properties of a HeadsReply.
         * @deprecated Use revcast.revision.HeadsReply.$Properties instead.
         */
        interface IHeadsReply extends revcast.revision.HeadsReply.$Properties {
        }

        /** Represents a HeadsReply. */
        class HeadsReply {

            /**
             * Constructs a new HeadsReply.
             * @param [properties] Properties to set
             */
            constructor(properties?: revcast.revision.HeadsReply.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** HeadsReply heads. */
            heads: revcast.revision.Head.$Properties[];

            /** HeadsReply error. */
            error?: (revcast.revision.Error.$Properties|null);

            /**
             * Encodes the specified HeadsReply message. Does not implicitly {@link revcast.revision.HeadsReply.verify|verify} messages.
             * @param message HeadsReply message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: revcast.revision.HeadsReply.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a HeadsReply message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {revcast.revision.HeadsReply & revcast.revision.HeadsReply.$Shape} HeadsReply
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): revcast.revision.HeadsReply & revcast.revision.HeadsReply.$Shape;

            /**
             * Gets the type url for HeadsReply
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace HeadsReply {

            /** Properties of a HeadsReply. */
            interface $Properties {

                /** HeadsReply heads */
                heads?: (revcast.revision.Head.$Properties[]|null);

                /** HeadsReply error */
                error?: (revcast.revision.Error.$Properties|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a HeadsReply. */
            type $Shape = revcast.revision.HeadsReply.$Properties;
        }

        /**
         * Properties of a RangeRequest.
         * @deprecated Use revcast.revision.RangeRequest.$Properties instead.
         */
        interface IRangeRequest extends revcast.revision.RangeRequest.$Properties {
        }

        /** Represents a RangeRequest. */
        class RangeRequest {

            /**
             * Constructs a new RangeRequest.
             * @param [properties] Properties to set
             */
            constructor(properties?: revcast.revision.RangeRequest.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** RangeRequest room. */
            room: string;

            /** RangeRequest after. */
            after?: (revcast.revision.Position.$Properties|null);

            /** RangeRequest limit. */
            limit: number;

            /** RangeRequest maxBytes. */
            maxBytes: number;

            /** RangeRequest hint. */
            hint: number;

            /**
             * Encodes the specified RangeRequest message. Does not implicitly {@link revcast.revision.RangeRequest.verify|verify} messages.
             * @param message RangeRequest message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: revcast.revision.RangeRequest.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a RangeRequest message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {revcast.revision.RangeRequest & revcast.revision.RangeRequest.$Shape} RangeRequest
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): revcast.revision.RangeRequest & revcast.revision.RangeRequest.$Shape;

            /**
             * Gets the type url for RangeRequest
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace RangeRequest {

            /** Properties of a RangeRequest. */
            interface $Properties {

                /** RangeRequest room */
                room?: (string|null);

                /** RangeRequest after */
                after?: (revcast.revision.Position.$Properties|null);

                /** RangeRequest limit */
                limit?: (number|null);

                /** RangeRequest maxBytes */
                maxBytes?: (number|null);

                /** RangeRequest hint */
                hint?: (number|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a RangeRequest. */
            type $Shape = revcast.revision.RangeRequest.$Properties;
        }

        /**
         * Properties of a RangeReply.
         * @deprecated Use revcast.revision.RangeReply.$Properties instead.
         */
        interface IRangeReply extends revcast.revision.RangeReply.$Properties {
        }

        /** Represents a RangeReply. */
        class RangeReply {

            /**
             * Constructs a new RangeReply.
             * @param [properties] Properties to set
             */
            constructor(properties?: revcast.revision.RangeReply.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** RangeReply entries. */
            entries: revcast.revision.RangeEntry.$Properties[];

            /** RangeReply head. */
            head?: (revcast.revision.Head.$Properties|null);

            /** RangeReply error. */
            error?: (revcast.revision.Error.$Properties|null);

            /**
             * Encodes the specified RangeReply message. Does not implicitly {@link revcast.revision.RangeReply.verify|verify} messages.
             * @param message RangeReply message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: revcast.revision.RangeReply.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a RangeReply message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {revcast.revision.RangeReply & revcast.revision.RangeReply.$Shape} RangeReply
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): revcast.revision.RangeReply & revcast.revision.RangeReply.$Shape;

            /**
             * Gets the type url for RangeReply
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace RangeReply {

            /** Properties of a RangeReply. */
            interface $Properties {

                /** RangeReply entries */
                entries?: (revcast.revision.RangeEntry.$Properties[]|null);

                /** RangeReply head */
                head?: (revcast.revision.Head.$Properties|null);

                /** RangeReply error */
                error?: (revcast.revision.Error.$Properties|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a RangeReply. */
            type $Shape = revcast.revision.RangeReply.$Properties;
        }

        /**
         * Properties of a RangeEntry.
         * @deprecated Use revcast.revision.RangeEntry.$Properties instead.
         */
        interface IRangeEntry extends revcast.revision.RangeEntry.$Properties {
        }

        /** Represents a RangeEntry. */
        class RangeEntry {

            /**
             * Constructs a new RangeEntry.
             * @param [properties] Properties to set
             */
            constructor(properties?: revcast.revision.RangeEntry.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** RangeEntry entry. */
            entry?: (revcast.log.Entry.$Properties|null);

            /** RangeEntry seq. */
            seq: number;

            /**
             * Encodes the specified RangeEntry message. Does not implicitly {@link revcast.revision.RangeEntry.verify|verify} messages.
             * @param message RangeEntry message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: revcast.revision.RangeEntry.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a RangeEntry message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {revcast.revision.RangeEntry & revcast.revision.RangeEntry.$Shape} RangeEntry
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): revcast.revision.RangeEntry & revcast.revision.RangeEntry.$Shape;

            /**
             * Gets the type url for RangeEntry
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace RangeEntry {

            /** Properties of a RangeEntry. */
            interface $Properties {

                /** RangeEntry entry */
                entry?: (revcast.log.Entry.$Properties|null);

                /** RangeEntry seq */
                seq?: (number|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a RangeEntry. */
            type $Shape = revcast.revision.RangeEntry.$Properties;
        }

        /**
         * Properties of a SnapshotRequest.
         * @deprecated Use revcast.revision.SnapshotRequest.$Properties instead.
         */
        interface ISnapshotRequest extends revcast.revision.SnapshotRequest.$Properties {
        }

        /** Represents a SnapshotRequest. */
        class SnapshotRequest {

            /**
             * Constructs a new SnapshotRequest.
             * @param [properties] Properties to set
             */
            constructor(properties?: revcast.revision.SnapshotRequest.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** SnapshotRequest room. */
            room: string;

            /**
             * Encodes the specified SnapshotRequest message. Does not implicitly {@link revcast.revision.SnapshotRequest.verify|verify} messages.
             * @param message SnapshotRequest message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: revcast.revision.SnapshotRequest.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a SnapshotRequest message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {revcast.revision.SnapshotRequest & revcast.revision.SnapshotRequest.$Shape} SnapshotRequest
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): revcast.revision.SnapshotRequest & revcast.revision.SnapshotRequest.$Shape;

            /**
             * Gets the type url for SnapshotRequest
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace SnapshotRequest {

            /** Properties of a SnapshotRequest. */
            interface $Properties {

                /** SnapshotRequest room */
                room?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a SnapshotRequest. */
            type $Shape = revcast.revision.SnapshotRequest.$Properties;
        }

        /**
         * Properties of a SnapshotReply.
         * @deprecated Use revcast.revision.SnapshotReply.$Properties instead.
         */
        interface ISnapshotReply extends revcast.revision.SnapshotReply.$Properties {
        }

        /** Represents a SnapshotReply. */
        class SnapshotReply {

            /**
             * Constructs a new SnapshotReply.
             * @param [properties] Properties to set
             */
            constructor(properties?: revcast.revision.SnapshotReply.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** SnapshotReply snapshot. */
            snapshot?: (revcast.log.Snapshot.$Properties|null);

            /** SnapshotReply head. */
            head?: (revcast.revision.Head.$Properties|null);

            /** SnapshotReply error. */
            error?: (revcast.revision.Error.$Properties|null);

            /**
             * Encodes the specified SnapshotReply message. Does not implicitly {@link revcast.revision.SnapshotReply.verify|verify} messages.
             * @param message SnapshotReply message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: revcast.revision.SnapshotReply.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a SnapshotReply message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {revcast.revision.SnapshotReply & revcast.revision.SnapshotReply.$Shape} SnapshotReply
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): revcast.revision.SnapshotReply & revcast.revision.SnapshotReply.$Shape;

            /**
             * Gets the type url for SnapshotReply
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace SnapshotReply {

            /** Properties of a SnapshotReply. */
            interface $Properties {

                /** SnapshotReply snapshot */
                snapshot?: (revcast.log.Snapshot.$Properties|null);

                /** SnapshotReply head */
                head?: (revcast.revision.Head.$Properties|null);

                /** SnapshotReply error */
                error?: (revcast.revision.Error.$Properties|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a SnapshotReply. */
            type $Shape = revcast.revision.SnapshotReply.$Properties;
        }

        /**
         * Properties of an Error.
         * @deprecated Use revcast.revision.Error.$Properties instead.
         */
        interface IError extends revcast.revision.Error.$Properties {
        }

        /** Represents an Error. */
        class Error {

            /**
             * Constructs a new Error.
             * @param [properties] Properties to set
             */
            constructor(properties?: revcast.revision.Error.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Error code. */
            code: string;

            /** Error message. */
            message: string;

            /** Error retryable. */
            retryable: boolean;

            /** Error firstRev. */
            firstRev: number;

            /** Error head. */
            head?: (revcast.revision.Head.$Properties|null);

            /**
             * Encodes the specified Error message. Does not implicitly {@link revcast.revision.Error.verify|verify} messages.
             * @param message Error message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: revcast.revision.Error.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes an Error message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {revcast.revision.Error & revcast.revision.Error.$Shape} Error
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): revcast.revision.Error & revcast.revision.Error.$Shape;

            /**
             * Gets the type url for Error
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace Error {

            /** Properties of an Error. */
            interface $Properties {

                /** Error code */
                code?: (string|null);

                /** Error message */
                message?: (string|null);

                /** Error retryable */
                retryable?: (boolean|null);

                /** Error firstRev */
                firstRev?: (number|null);

                /** Error head */
                head?: (revcast.revision.Head.$Properties|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of an Error. */
            type $Shape = revcast.revision.Error.$Properties;
        }
    }
}
