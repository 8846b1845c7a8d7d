#pragma once
#include <functional>
#include <map>
#include <string>

#include "schema/value.h"

namespace porthole::apiserver {

/// How objects of a kind are converted between the version that is stored and another one. Empty functions: only apiVersion differs.
struct Conversion {
    std::function<schema::Value(schema::Value)> to_stored, from_stored;
};

/// By served version and kind, "events.k8s.io/v1/Event".
using Conversions = std::map<std::string, Conversion>;

}  // namespace porthole::apiserver
