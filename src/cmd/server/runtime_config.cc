#include "cmd/server/runtime_config.h"

#include <algorithm>

#include "base/strings.h"

namespace porthole::cmd {
namespace {

/// Off unless asked for. All others of Kubernetes are either always served or not here.
constexpr std::string_view Optional[] = {"certificates.k8s.io/v1beta1", "certificates.k8s.io/v1beta1/clustertrustbundles",
                                         "certificates.k8s.io/v1beta1/podcertificaterequests", "extensions/v1beta1"};

}  // namespace

Result<std::set<std::string>> read_runtime_config(const std::vector<std::string>& given) {
    std::set<std::string> served;
    for (const std::string& pair : given) {
        const std::size_t mark = std::min(pair.find('='), pair.size());
        const std::string version = pair.substr(0, mark), value = mark == pair.size() ? "true" : pair.substr(mark + 1);
        if (std::ranges::find(Optional, version) == std::end(Optional))
            return Error(Reason::BadRequest,
                         "--runtime-config: " + version + " cannot be turned on or off; " + join(Optional, ", ") + " can");
        if (value != "true" && value != "false")
            return Error(Reason::BadRequest, "--runtime-config: invalid value of " + version + ": " + value + ", neither true nor false");
        if (value == "true")
            served.insert(version);
        else
            served.erase(version);
    }
    return served;
}

}  // namespace porthole::cmd
