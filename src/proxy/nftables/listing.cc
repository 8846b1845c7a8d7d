#include "proxy/nftables/listing.h"

#include "schema/json.h"

namespace porthole::proxy {

namespace {

using schema::Value;

/// "10.96.0.1 . tcp . 443", "10.0.0.0/8", "goto x", "drop"
std::string text(const Value& value) {
    if (value.is_string()) return value.as_string();
    if (value.is_int()) return std::to_string(value.as_int());
    if (const Value* parts = value.find("concat"); parts && parts->is_array()) {
        std::string joined;
        for (const Value& part : parts->as_array()) joined.append(joined.empty() ? "" : " . ").append(text(part));
        return joined;
    }
    if (const Value* element = value.find("elem")) return text(schema::at(*element, "val"));
    if (const Value* prefix = value.find("prefix")) {
        return text(schema::at(*prefix, "addr")) + "/" + text(schema::at(*prefix, "len"));
    }
    for (const char* verdict : {"goto", "jump"}) {
        if (const Value* target = value.find(verdict)) return std::string(verdict) + " " + text(schema::at(*target, "target"));
    }
    return value.find("drop") ? "drop" : "";
}

void read_elements(const Value& set, std::set<std::string>& into) {
    const Value* elements = set.find("elem");
    if (!elements || !elements->is_array()) return;
    for (const Value& element : elements->as_array()) {
        const bool pair = element.is_array() && element.as_array().size() == 2;
        into.insert(pair ? text(element.as_array()[0]) + " : " + text(element.as_array()[1]) : text(element));
    }
}

}  // namespace

Result<Listing> read_listing(std::string_view json) {
    TRY(const Value document, schema::parse_json(json));
    const Value* objects = document.find("nftables");
    if (!objects || !objects->is_array()) return Error(Reason::BadRequest, "no nftables listing");
    Listing listing;
    for (const Value& object : objects->as_array()) {
        for (const char* kind : {"set", "map"}) {
            if (const Value* set = object.find(kind)) read_elements(*set, listing.elements[text(schema::at(*set, "name"))]);
        }
        if (const Value* chain = object.find("chain")) listing.rules[text(schema::at(*chain, "name"))] += 0;
        if (const Value* rule = object.find("rule")) ++listing.rules[text(schema::at(*rule, "chain"))];
    }
    return listing;
}

}  // namespace porthole::proxy
