/** Which hosts are this very machine. */

/** `host` as `URL.hostname` spells it: lower case, IPv4 in full, IPv6 in brackets. */
export function isLoopbackHost(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}
