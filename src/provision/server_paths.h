#pragma once

/// Where a server and its etcd member are on a machine: directories, service and user. Macros, because scripts contain them.
#define PORTHOLE_SERVER_FILES "/var/lib/porthole-server"
#define PORTHOLE_SERVER_DATA "/var/lib/porthole"
#define PORTHOLE_ETCD_FILES "/var/lib/porthole-etcd"
#define PORTHOLE_ETCD_UNIT "porthole-etcd.service"
#define PORTHOLE_ETCD_USER "porthole-etcd"
