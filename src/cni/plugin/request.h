#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/value.h"

namespace porthole::cni {

/// One call by a runtime: its environment variables and its configuration.
struct CniRequest {
    std::string command;  ///< "ADD", "DEL", "CHECK", "STATUS", "GC"
    std::string container_id, netns, interface;
    std::map<std::string, std::string> arguments;    ///< CNI_ARGS
    std::vector<std::string> path;                   ///< directories of plugins
    std::map<std::string, std::string> environment;  ///< all CNI_* variables, for plugins that this one calls
    schema::Value config;
    std::string network, version;  ///< its `name` and `cniVersion`

    bool version_at_least(std::string_view other) const;
};

/// The versions that every plugin here supports, oldest first.
const std::vector<std::string>& supported_versions();

/// Errors: the specification's codes for a missing or malformed variable (4), JSON that cannot be read, with its line and column
/// (6), a configuration without a name (7), another version (1), and a command that the version has not (4).
Result<CniRequest> read_request(const std::map<std::string, std::string>& environment, std::string_view config, char path_separator);

/// The member of that name in any case, as Windows' configurations need; null if there is none.
const schema::Value& member(const schema::Value& value, std::string_view name);

}  // namespace porthole::cni
