// Prints where the library is.
import { getLoadablePath } from "sqlite-cuckoo";

console.log(getLoadablePath());
