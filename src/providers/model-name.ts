/**
 * What a client's `model` means: `provider/model` for any configured provider, a bare name for the
 * endpoint's own. A model's name may hold slashes; the first one ends the provider.
 */
import { Refusal } from "../failure.ts";
import type { Catalogue } from "./configuration.ts";
import { parseRouteName } from "./route-name.ts";

/**
 * The route of a model that was asked for at a vendor's endpoint. Whether the model exists is the provider's
 * to say.
 * @throws Refusal `unknown-model`, which names the configured providers.
 */
export function routeOfModel(model: string, vendor: string, catalogue: Pick<Catalogue, "providers">): string {
  const name = model.includes("/") ? model : `${vendor}/${model}`;
  const parts = parseRouteName(name);
  if (parts !== undefined && catalogue.providers.has(parts.provider)) return name;
  const known = [...catalogue.providers.keys()].sort().join(", ");
  throw new Refusal(
    "unknown-model",
    `A model is named provider/model, or without a provider for one of ${vendor}. Configured providers: ${known}.`,
    { at: "model" },
  );
}
