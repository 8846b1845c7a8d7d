#pragma once  // private to this folder
#include <string>

namespace porthole::controllers {

/// The problem of a kubelet of `version` ("v1.35.2") with an API server of `own`: it is newer, or older by more minor versions than
/// Kubernetes supports. "" if there is none, or a version cannot be parsed.
std::string version_skew(const std::string& version, const std::string& own);

}  // namespace porthole::controllers
