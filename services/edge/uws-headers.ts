/**
 * How large the headers of a request may be that arrives in pieces. uWebSockets.js reads the variable once, when it is
 * loaded, and allows 4 KB by default, which a browser's cookies and the id of a stream of many rooms can exceed: so this
 * is imported before it, wherever it is. What the environment says wins.
 */
const MAX_HEADERS_BYTES = 16_384;

// oxlint-disable-next-line node/no-process-env -- the library takes it from nowhere else
process.env['UWS_HTTP_MAX_HEADERS_SIZE'] ??= String(MAX_HEADERS_BYTES);
