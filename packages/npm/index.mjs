import fs from "node:fs";
import { createRequire } from "node:module";
import cuckoo from "./index.common.cjs";

// A bundler may make a CommonJS module of this one, which has __filename instead of import.meta.url.
const here = () => typeof __filename === "string" ? __filename : import.meta.url;

export const { getLoadablePath, load } = cuckoo(fs, (file) => createRequire(here()).resolve(file));
