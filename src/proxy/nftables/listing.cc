#include "proxy/nftables/listing.h"

#include <algorithm>
#include <map>

#include "netlink/nft_text.h"
#include "proxy/nftables/layout.h"

namespace porthole::proxy::nftables {
namespace {

net::NftTypes types_of(const TableObject& object) {
    const auto types = net::NftTypes::parse(object.type, object.flags.contains("interval"));
    CHECK(types);
    return *types;
}

}  // namespace

std::vector<net::NftChange> kernel_changes(const std::vector<Element>& removed, const std::vector<Element>& added) {
    std::map<std::string_view, net::NftChange> by_set;
    const auto encode = [&](const std::vector<Element>& elements, std::vector<net::NftElement> net::NftChange::* into) {
        std::map<std::string_view, net::NftTypes> encoders;
        for (const Element& element : elements) {
            const auto known = encoders.find(element.set);
            const net::NftTypes& types =
                known != encoders.end()
                    ? known->second
                    : encoders.emplace(element.set, types_of(*std::ranges::find(table_objects(), element.set, &TableObject::name)))
                          .first->second;
            net::NftChange& change = by_set.try_emplace(element.set, net::NftChange{.set = element.set}).first->second;
            const auto encoded = types.element(element.key, into == &net::NftChange::added ? element.data : "");
            CHECK(encoded);
            (change.*into).push_back(*encoded);
        }
    };
    encode(removed, &net::NftChange::removed);
    encode(added, &net::NftChange::added);
    std::vector<net::NftChange> changes;
    for (auto& [set, change] : by_set) changes.push_back(std::move(change));
    return changes;
}

Listing read_listing(const net::NftTable& table) {
    Listing listing{.rules = table.rules};
    for (const TableObject& object : table_objects()) {
        const auto found = table.elements.find(std::string(object.name));
        if (object.kind == TableObject::Kind::Chain || found == table.elements.end()) continue;
        const net::NftTypes types = types_of(object);
        std::set<std::string>& texts = listing.elements[found->first];
        for (const net::NftElement& element : found->second) texts.insert(types.text(element));
    }
    return listing;
}

std::vector<std::string> sets_of_services() {
    std::vector<std::string> names;
    for (const TableObject& object : table_objects())
        if (object.filled == TableObject::Filled::ByServices) names.emplace_back(object.name);
    return names;
}

}  // namespace porthole::proxy::nftables
