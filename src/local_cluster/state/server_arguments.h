#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace porthole::local_cluster {

/// Options of `porthole server` for the servers of a cluster that `up` starts, as in kubeadm's extraArgs: values by name, without dashes.
using ServerArguments = std::map<std::string, std::string>;

/// Parses NAME=VALUE, such as "feature-gates=IdentifyPodOS=false". Error: BadRequest.
Result<ServerArguments> parse_server_arguments(const std::vector<std::string>& given);
/// Error: BadRequest for an option that `up` itself sets, because other parts need the same value, and for an invalid name.
Result<void> check_server_arguments(const ServerArguments& given);
/// `own` followed by `given`; an option in both has only the given value. `own` alternates names and values, or has names of flags.
std::vector<std::string> with_server_arguments(std::vector<std::string> own, const ServerArguments& given);

}  // namespace porthole::local_cluster
