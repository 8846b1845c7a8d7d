#include "proxy/nftables/listing.h"

#include "proxy/nftables/elements.h"
#include "schema/json.h"

namespace porthole::proxy::nftables {
namespace {

using schema::Value;

void read_elements(const Value& set, std::set<std::string>& into) {
    const Value* elements = set.find("elem");
    if (!elements || !elements->is_array()) return;
    for (const Value& element : elements->as_array()) into.insert(read_element(element));
}

}  // namespace

Result<Listing> read_listing(std::string_view json) {
    TRY(const Value document, schema::parse_json(json));
    const Value* objects = document.find("nftables");
    if (!objects || !objects->is_array()) return Error(Reason::BadRequest, "no nftables listing");
    Listing listing;
    for (const Value& object : objects->as_array()) {
        for (const char* kind : {"set", "map"}) {
            if (const Value* set = object.find(kind)) read_elements(*set, listing.elements[read_element(schema::at(*set, "name"))]);
        }
        if (const Value* chain = object.find("chain")) listing.rules[read_element(schema::at(*chain, "name"))] += 0;
        if (const Value* rule = object.find("rule")) ++listing.rules[read_element(schema::at(*rule, "chain"))];
    }
    return listing;
}

}  // namespace porthole::proxy::nftables
