#include "cel/library/libraries.h"

#include "cel/syntax/macros.h"

namespace porthole::cel {

// Versions as upstream's base environment has them.
std::span<const Library> all_libraries() {
    static const Library libraries[] = {
        {operator_functions(), macros::standard()},
        {conversion_functions(), {}},
        {text_functions(), {}},
        {time_functions(), {}},
        {url_functions(), {}},
        {regex_functions(), {}},
        {string_functions(), {}},
        {list_functions(), {}},
        {authorizer_functions(), {}, 27},
        {optional_functions(), macros::optionals(), 28},
        {optional_functions_v2(), {}, 28},
        {quantity_functions(), {}, 28},
        {string_functions_v1(), {}, 29, Library::In::Kubernetes},
        {string_functions_v4(), {}, 0, Library::In::Extended},
        {set_functions(), {}, 29},
        {network_functions(), {}, 30},
        {format_functions(), {}, 31},
        {authorizer_selector_functions(), {}, 31},
        {two_variable_functions(), macros::two_variable(), 32},
        {semver_functions(), {}, 33},
        {list_functions_ext(), macros::lists(), 34},
        {json_patch_functions(), {}, 32},
        {list_functions_v1(), {}, 37},
        {math_functions(), macros::math(), 0, Library::In::Extended},
        {encoder_functions(), {}, 0, Library::In::Extended},
        {{}, macros::bindings(), 0, Library::In::Extended},
    };
    return libraries;
}

}  // namespace porthole::cel
