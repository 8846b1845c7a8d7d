#pragma once
#include "client/client.h"
#include "cmd/bundle/writer.h"

namespace porthole::cmd::bundle {

/// Adds data from the API and the kubelets: versions, health, every object that can be listed, and of each node settings, statistics and
/// the end of its components' logs. Missing answers are noted. `client` and `writer` outlive the task. Error: Cancelled, Io of the archive.
Task<> add_cluster(client::Client& client, Writer& writer);

}  // namespace porthole::cmd::bundle
