#pragma once  // private to this folder
#include <string>

namespace porthole::controllers {

/// What is wrong with a kubelet of `version` ("v1.35.2") at an API server of `own`: it is newer, or older by more minor versions than
/// Kubernetes supports. "" where nothing is, or a version cannot be read.
std::string version_skew(const std::string& version, const std::string& own);

}  // namespace porthole::controllers
