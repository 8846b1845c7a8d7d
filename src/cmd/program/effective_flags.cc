#include "cmd/program/effective_flags.h"

namespace porthole::cmd {
namespace {

std::string value_of(const CLI::Option& option) {
    const bool is_switch = option.get_items_expected_max() == 0;
    if (option.count() == 0) return is_switch && option.get_default_str().empty() ? "false" : option.get_default_str();
    if (is_switch) return option.results().front() != "false" ? "true" : "false";
    std::string joined;
    for (const std::string& one : option.results()) joined += (joined.empty() ? "" : ",") + one;
    return joined;
}

}  // namespace

std::map<std::string, std::string> effective_flags(const CLI::App& app) {
    std::map<std::string, std::string> flags;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames())
            if (name != "help") flags[name] = value_of(*option);
    }
    return flags;
}

}  // namespace porthole::cmd
