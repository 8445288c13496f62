// A node of a dqlite cluster, with sqlite-cuckoo in every connection. It runs until SIGTERM.
//
//   dqlite_node ID HOST:PORT DIRECTORY
//
// Snapshots are frequent, so that a node that comes back gets one instead of the log.
#include <dqlite.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "sqlite_cuckoo.h"

enum { kSnapshotEvery = 128, kEntriesKept = 128, kLatencyMs = 5 };

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s ID HOST:PORT DIRECTORY\n", argv[0]);
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);  // other nodes die
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigprocmask(SIG_BLOCK, &ends, NULL);  // the node's thread inherits it

  sqlite3_auto_extension((void (*)(void))sqlite3_cuckoo_init);
  dqlite_node* node = NULL;
  if (dqlite_node_create(strtoull(argv[1], NULL, 10), argv[2], argv[3], &node) != 0 ||
      dqlite_node_set_bind_address(node, argv[2]) != 0 ||
      dqlite_node_set_network_latency_ms(node, kLatencyMs) != 0 ||
      dqlite_node_set_snapshot_params(node, kSnapshotEvery, kEntriesKept) != 0 ||
      dqlite_node_start(node) != 0) {
    fprintf(stderr, "node %s: %s\n", argv[1], node != NULL ? dqlite_node_errmsg(node) : "no node");
    return 1;
  }
  int signal_number = 0;
  sigwait(&ends, &signal_number);
  dqlite_node_stop(node);
  dqlite_node_destroy(node);
  return 0;
}
