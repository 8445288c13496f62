export { getLoadablePath, load, type Database } from "./index.cjs";
