// What a client says of a request outside its body: path, query, selectors, media types.
#include <cstdint>
#include <cstdlib>

#include "apiserver/request/negotiation.h"
#include "apiserver/request/options.h"
#include "apiserver/request/request_info.h"
#include "apiserver/validation/field_selector.h"
#include "apiserver/validation/label_selector.h"
#include "apiserver/validation/names.h"

using namespace porthole::apiserver;

namespace {

void selectors(std::string_view text) {
    const auto fields = FieldSelector::parse(text);
    const auto name = required_value(text, "metadata.name");
    if (name && (!fields || required_value("metadata.name=" + escape_field_value(*name), "metadata.name") != name)) std::abort();
    const auto selector = LabelSelector::parse(text);
    if (!selector) return;
    const auto again = LabelSelector::parse(to_string(*selector));
    if (!again || to_string(*again) != to_string(*selector)) std::abort();
    const Labels labels{{"a", "b"}, {"app", "1"}};
    if (again->matches(labels) != selector->matches(labels)) std::abort();
}

void names_of(std::string_view text) {
    static_cast<void>(names::check_qualified_name(text));
    static_cast<void>(names::check_percent(text));
    static_cast<void>(names::check_domain_prefixed_path(text));
    if (names::is_dns1123_subdomain(text) && text.find('/') != std::string_view::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    selectors(text);
    names_of(text);
    static_cast<void>(negotiate_output(text, true, false));
    static_cast<void>(encoding_of_content_type(text));
    const auto question = text.find('?');
    const std::string_view query = question == std::string_view::npos ? text : text.substr(question + 1);
    for (const char* method : {"GET", "PATCH", "DELETE"}) {
        const RequestInfo info = parse_request_info(method, text.substr(0, question), query);
        static_cast<void>(info.long_running());
        static_cast<void>(parse_list_options(info));
        static_cast<void>(parse_write_options(info, "PatchOptions", true));
        static_cast<void>(parse_delete_options(info, {}));
    }
    return 0;
}
