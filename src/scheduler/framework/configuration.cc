#include "scheduler/framework/configuration.h"

#include <algorithm>

#include "schema/fields/fields.h"

namespace porthole::scheduler {

const ProfileConfiguration& Configuration::profile(std::string_view scheduler_name) const {
    const auto found = std::ranges::find(profiles, scheduler_name, &ProfileConfiguration::scheduler_name);
    CHECK(found != profiles.end());
    return *found;
}

schema::Value arguments_value(const ProfileConfiguration& profile, std::string_view plugin, const schema::Type& type) {
    const auto given = profile.arguments.find(plugin);
    schema::Value arguments = given == profile.arguments.end() ? schema::Value::object() : given->second;
    schema::apply_table_defaults(arguments, type);
    return arguments;
}

}  // namespace porthole::scheduler
