#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace porthole::local_cluster {

/// Options of `porthole server` for the servers of a cluster that `up` starts, as in kubeadm's extraArgs: values by name, without dashes.
using ServerArguments = std::map<std::string, std::string>;

/// Reads NAME=VALUE, such as "feature-gates=IdentifyPodOS=false". Error: BadRequest.
Result<ServerArguments> parse_server_arguments(const std::vector<std::string>& given);
/// Error: BadRequest for what `up` itself sets, since its other parts need the same value, and for a name that is none.
Result<void> check_server_arguments(const ServerArguments& given);
/// `own` with `given` behind it; an option of both has the given value alone. `own` are names and values by turns, or names of flags.
std::vector<std::string> with_server_arguments(std::vector<std::string> own, const ServerArguments& given);

}  // namespace porthole::local_cluster
