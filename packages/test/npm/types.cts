import cuckoo = require("sqlite-cuckoo");

const path: string = cuckoo.getLoadablePath();
cuckoo.load({ loadExtension: (file: string) => path + file });
