/**
 * Which headers go from one side of the gateway to the other: all but what concerns one connection (RFC 9110
 * 7.6.1), proves who sends, says where from, or is a word between us and the client.
 */
const dropped =
  /^(?:connection|keep-alive|te|trailer|transfer-encoding|upgrade|host|cookie|set-cookie|authorization|x-api-key|accept-encoding|x-real-ip|true-client-ip|forwarded|(?:proxy|plimsoll|cf|x-forwarded)-.*)$/;

/** A copy of `given` without what stays here. Lengths and encodings of a body are the caller's concern. */
export function passedHeaders(given: Headers): Headers {
  const headers = new Headers();
  for (const [name, value] of given) if (!dropped.test(name)) headers.append(name, value);
  return headers;
}
