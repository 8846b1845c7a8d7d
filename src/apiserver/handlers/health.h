#pragma once
#include <functional>
#include <string>
#include <vector>

#include "apiserver/handlers/request_context.h"
#include "runtime/task.h"

namespace porthole::apiserver {

/// /livez, /readyz, /healthz: named checks, each under its own path, all together with ?verbose and ?exclude=.
class Health {
public:
    struct Check {
        std::string name;
        bool readiness_only = false;
        bool by_name_only = false;  ///< only under its own path, not part of the whole
        std::function<bool()> passes;
    };
    void add(Check check) { checks_.push_back(std::move(check)); }

    /// Whether `path` is one of these.
    static bool owns(std::string_view path);
    Task<> handle(RequestContext& context) const;
    /// All checks that count pass.
    bool ready() const;

private:
    std::vector<Check> checks_;
};

}  // namespace porthole::apiserver
