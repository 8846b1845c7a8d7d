#pragma once
#include "apiserver/api_server.h"
#include "net/tls/x509.h"

namespace porthole::apiserver {

/// Options of an API server in memory, for tests and benchmarks: the usual ranges, and a new key.
inline ApiServerOptions example_options() {
    ApiServerOptions options;
    options.bootstrap = {.advertise_address = "192.168.0.1",
                         .port = 6443,
                         .kubernetes_service_ip = "10.96.0.1",
                         .cluster_dns = "10.96.0.10",
                         .cluster_domain = "cluster.local",
                         .service_cidr = "10.96.0.0/16",
                         .cluster_cidr = "10.244.0.0/16"};
    options.service_cidrs = {"10.96.0.0/16"};
    options.service_account_key_pem = net::PrivateKey::generate().pem();
    return options;
}

}  // namespace porthole::apiserver
