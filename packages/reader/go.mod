module cuckooreader

go 1.19
