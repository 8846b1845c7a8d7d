#pragma once
#include <memory>
#include <string>
#include <vector>

#include "apiserver/validation/label_selector.h"
#include "schema/type.h"
#include "schema/value.h"

namespace porthole::apiserver {

/// An object of the kind that a policy's paramKind names, in that version. Immutable.
struct PolicyParameter {
    std::string namespace_, name;
    schema::Value object;
};
using PolicyParameterPtr = std::shared_ptr<const PolicyParameter>;

/// Reads the parameters of policies: objects of any kind that is served, custom or not. Used on the store's loop.
class PolicyParameters {
public:
    virtual ~PolicyParameters() = default;
    /// The served kind; null if there is none now.
    virtual const schema::Kind* find_kind(const std::string& api_version, const std::string& kind) const = 0;
    /// Null if there is none. `namespace_` is "" for a kind without. Error: InternalError when it cannot be read.
    virtual Result<PolicyParameterPtr> find(const schema::Kind& kind, const std::string& namespace_, const std::string& name) const = 0;
    /// The first `most` in one namespace, by name.
    virtual Result<std::vector<PolicyParameterPtr>> list(const schema::Kind& kind, const std::string& namespace_,
                                                         const LabelSelector& selector, std::size_t most) const = 0;
};

}  // namespace porthole::apiserver
