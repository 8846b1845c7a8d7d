// What a client says outside its body, each part by itself: request_fuzz has all of them together.
#include "apiserver/request/negotiation.h"
#include "apiserver/request/options.h"
#include "apiserver/request/request_info.h"
#include "apiserver/request/user_agent.h"
#include "apiserver/validation/field_selector.h"
#include "apiserver/validation/label_selector.h"
#include "fuzz_target.h"
#include "net/http/http.h"
#include "net/http/http_status.h"
#include "schema/patch/patch.h"

using namespace porthole;
using namespace porthole::apiserver;
using namespace porthole::fuzz;

FUZZ_TARGET(query_fuzz) {
    for (const auto& [key, value] : net::parse_query(text)) expect(key.size() + value.size() <= text.size());
    for (const std::string& part : net::split_path(text)) expect(part.size() <= text.size());
}

/// Of a server; what is read is written as it was.
FUZZ_TARGET(http_date_fuzz) {
    if (const auto date = net::parse_http_date(text)) expect(net::http_date(*date) == text);
}

FUZZ_TARGET(accept_header_fuzz) {
    double last = 1e9;
    for (const MediaType& clause : parse_accept(text)) {
        expect(clause.quality <= last);
        last = clause.quality;
    }
    for (const bool stream : {false, true}) {
        if (const auto form = negotiate_output(text, true, stream)) expect(!form->content_type(stream).empty());
    }
}

FUZZ_TARGET(content_type_fuzz) {
    static_cast<void>(encoding_of_content_type(text));
    static_cast<void>(schema::parse_patch_type(text));
    static_cast<void>(parse_media_type(text).parameter("charset"));
}

FUZZ_TARGET(label_selector_fuzz) {
    const auto selector = LabelSelector::parse(text);
    if (!selector) return;
    const auto again = LabelSelector::parse(to_string(*selector));
    expect(again && to_string(*again) == to_string(*selector));
    for (const Labels& labels : {Labels{}, Labels{{"a", "b"}}, Labels{{"app", "1"}, {"a", ""}}}) {
        expect(again->matches(labels) == selector->matches(labels));
    }
}

FUZZ_TARGET(field_selector_fuzz) {
    const auto name = required_value(text, "metadata.name");
    if (name) expect(required_value("metadata.name=" + escape_field_value(*name), "metadata.name") == name);
    static_cast<void>(FieldSelector::parse(text));
}

/// The first line is the path, the second the query.
FUZZ_TARGET(list_options_fuzz) {
    const std::string_view path = cut(text, '\n');
    const RequestInfo info = parse_request_info("GET", path, text);
    if (const auto options = parse_list_options(info)) {
        if (!options->resource_version.empty()) static_cast<void>(parse_resource_version(options->resource_version));
    }
    static_cast<void>(parse_write_options(info, "PatchOptions", true));
    expect(!info.verb.empty());
}

/// A name that managedFields can have, which is its own.
FUZZ_TARGET(user_agent_fuzz) {
    const std::string manager = manager_of_user_agent(text);
    expect(manager.size() <= 128 && !manager.contains('/') && manager_of_user_agent(manager) == manager);
}
