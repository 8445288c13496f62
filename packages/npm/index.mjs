import cuckoo from "./index.cjs";

export const { getLoadablePath, load } = cuckoo;
