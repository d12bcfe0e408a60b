/** Worker entry: mounts the app and exports the object's class, nothing else. */
import { configOf } from "./env.ts";
import { createApp } from "./gateway/app.ts";

export { SessionObject } from "./session-object.ts";

export default createApp({ configOf });
