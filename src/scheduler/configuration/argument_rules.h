#pragma once
#include <string>

#include "schema/fields/field_errors.h"
#include "schema/type.h"
#include "schema/value.h"

namespace porthole::scheduler {

/// The arguments that a plugin takes.
struct ArgumentRules {
    const char* plugin;
    const schema::Type& (*type)();
    /// With upstream's messages. `arguments` are of that type, with its defaults.
    void (*check)(const schema::Value& arguments, const schema::FieldPath& path, schema::FieldErrors& errors);
};

/// nullptr: the plugin takes none.
const ArgumentRules* find_argument_rules(const std::string& plugin);
/// "DefaultPreemption, DynamicResources, …"
std::string plugins_with_arguments();

}  // namespace porthole::scheduler
