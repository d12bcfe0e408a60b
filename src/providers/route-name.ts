/**
 * Names of routes and of whoever is named in configuration. Pure text rules, shared by configuration and
 * routing.
 */

/** The pattern of names and session ids (design.md section 7). */
export const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** A model as its provider spells it, slashes and colons included: visible ASCII. */
const modelPattern = /^[!-~]{1,256}$/;

export interface RouteName {
  provider: string;
  model: string;
}

/** Splits `provider/model` at the first slash; undefined when either half is missing or ill-formed. */
export function parseRouteName(name: string): RouteName | undefined {
  const slash = name.indexOf("/");
  if (slash < 0) return undefined;
  const provider = name.slice(0, slash);
  const model = name.slice(slash + 1);
  return namePattern.test(provider) && modelPattern.test(model) ? { provider, model } : undefined;
}
