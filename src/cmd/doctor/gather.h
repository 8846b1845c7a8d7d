#pragma once
#include "client/client.h"
#include "cmd/doctor/evidence.h"

namespace porthole::cmd::doctor {

/// Collects data from the API server: by `client` with the rights of an administrator, and by `anonymous` without credentials. Data that a
/// kubelet, or the server, does not provide are left out with the reason; a node that joined within the last minute has 20 s. Error: any of
/// the lists'.
Task<Evidence> gather(EventLoop& loop, client::Client& client, client::Transport& anonymous);

/// Reads modes, owners and certificates below a data directory of the server. Error: Forbidden or Io.
Result<HostFacts> gather_host(const std::filesystem::path& data, const std::string& audit_log);

}  // namespace porthole::cmd::doctor
