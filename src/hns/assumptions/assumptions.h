#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hns/hns.h"
#include "schema/value.h"

namespace porthole::hns {

/// A call of HNS, and its assumed answer. Texts may contain "${name}" for the id of an object.
struct AssumedCall {
    enum class Verb { Create, Query, Modify, Remove, Enumerate, Version1 };

    Verb verb = Verb::Query;
    ObjectKind kind = ObjectKind::Network;  ///< of Create and Enumerate
    std::string target;                     ///< the name of an object; of Create its network, "" for none; of Version1 the method
    std::string path;                       ///< of Version1
    std::string as;                         ///< of Create: the object's name in later calls
    std::string text;                       ///< sent instead of `settings` where it is not empty
    schema::Value settings;
    std::string fails;              ///< the HRESULT's name; "" for success
    schema::Value shows;            ///< see assumptions.yaml; null: any answer
    std::chrono::seconds within{};  ///< how long it may take until the answer is as assumed
};

/// An assumption about the service, as a sequence of calls. A value.
struct Assumption {
    std::string id, says;
    bool needs_adapter = false;  ///< it creates networks on an adapter of the host
    std::vector<AssumedCall> calls;
};

/// All assumptions of this build.
const std::vector<Assumption>& assumptions();
/// From YAML or JSON: a file as assumptions.yaml, or the report of a host (report.h), whose entries of other areas are
/// left out. Errors: BadRequest with the assumption's id.
Result<std::vector<Assumption>> parse_assumptions(std::string_view text);

/// "LoadBalancer"
const char* to_string(ObjectKind kind);

}  // namespace porthole::hns
