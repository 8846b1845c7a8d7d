#include "controllers/endpoints/slice_packing.h"

#include <gtest/gtest.h>

namespace porthole::controllers::endpoints {
namespace {

Endpoint endpoint(char name, bool ready = true) {
    Endpoint result;
    result.addresses = {std::string(1, name)};
    result.conditions.ready = ready;
    return result;
}

std::vector<Endpoint> all(const std::string& names) {
    std::vector<Endpoint> result;
    for (const char name : names) result.push_back(endpoint(name));
    return result;
}

std::vector<EndpointPort> port(std::int32_t number) {
    EndpointPort result;
    result.port = number;
    return {result};
}

EndpointSlice slice(const std::string& name, const std::string& endpoints, std::int32_t number = 80) {
    EndpointSlice result;
    result.metadata.name = name;
    result.endpoints = all(endpoints);
    if (!endpoints.empty()) result.ports = port(number);
    return result;
}

/// "create{abc} update:x{d} remove:y"
std::string text(const SliceChanges& changes) {
    std::string out;
    const auto add = [&](const char* verb, const std::vector<EndpointSlice>& slices, bool contents) {
        for (const EndpointSlice& slice : slices) {
            out += (out.empty() ? "" : " ") + std::string(verb) + (slice.metadata.name.empty() ? "" : ":" + slice.metadata.name);
            if (!contents) continue;
            out += "{";
            for (const Endpoint& endpoint : slice.endpoints) out += endpoint.addresses[0];
            out += "}";
        }
    };
    add("create", changes.create, true);
    add("update", changes.update, true);
    add("remove", changes.remove, false);
    return out;
}

TEST(SlicePacking, ChangesAsFewSlicesAsPossible) {
    const struct {
        const char* name;
        std::string wanted;
        std::vector<EndpointSlice> existing;
        std::string changes;
    } rows[] = {
        {"first slice", "ab", {}, "create{ab}"},
        {"nothing changed", "abc", {slice("x", "abc")}, ""},
        {"one more fits", "abd", {slice("x", "ab")}, "update:x{abd}"},
        {"the fullest that has room", "abcde", {slice("x", "a"), slice("y", "bcd")}, "update:x{ae}"},
        {"a changed slice takes the new one", "abde", {slice("x", "abc"), slice("y", "d")}, "update:x{abe}"},
        {"none has room", "abcd", {slice("x", "abc")}, "create{d}"},
        {"more than one slice", "abcdefg", {}, "create{abc} create{def} create{g}"},
        {"what remains goes where there is room", "abcde", {slice("x", "a")}, "create{bcd} update:x{ae}"},
        {"an emptied slice goes", "a", {slice("x", "a"), slice("y", "b")}, "remove:y"},
        {"slices are not merged", "ab", {slice("x", "a"), slice("y", "b")}, ""},
        {"nothing left", "", {slice("x", "a")}, "update:x{}"},
        {"none at all", "", {}, "create{}"},
        {"the placeholder is used", "a", {slice("x", "")}, "update:x{a}"},
        {"the placeholder stays", "", {slice("x", "")}, ""},
        {"other ports", "a", {slice("x", "a", 81)}, "update:x{a}"},
    };
    for (const auto& row : rows)
        EXPECT_EQ(text(pack_slices({{port(80), all(row.wanted)}}, row.existing, EndpointSlice(), 3)), row.changes) << row.name;
}

TEST(SlicePacking, WritesAnEndpointWhoseStateHasChanged) {
    EndpointSlice before = slice("x", "ab");
    const auto changes = pack_slices({{port(80), {endpoint('a'), endpoint('b', false)}}}, {before}, EndpointSlice(), 3);
    ASSERT_EQ(changes.update.size(), 1u);
    EXPECT_EQ(changes.update[0].endpoints[1].conditions.ready, false);
}

TEST(SlicePacking, KeepsPortsApart) {
    const auto changes = pack_slices({{port(80), all("a")}, {port(81), all("b")}}, {}, EndpointSlice(), 3);
    EXPECT_EQ(text(changes), "create{a} create{b}");
}

TEST(SlicePacking, BringsLabelsUpToDate) {
    EndpointSlice fresh;
    fresh.metadata.labels = {{"app", "web"}};
    EXPECT_EQ(text(pack_slices({{port(80), all("a")}}, {slice("x", "a")}, fresh, 3)), "update:x{a}");
}

TEST(SlicePacking, ManyGroupsTakeLinearTime) {
    constexpr std::int32_t Groups = 20'000;
    std::vector<PortGroup> groups;
    std::vector<EndpointSlice> existing;
    for (std::int32_t i = 1; i <= Groups; ++i) {
        groups.push_back({port(i), all("a")});
        existing.push_back(slice(std::to_string(i), "a", Groups + 2 - i));
    }
    const SliceChanges changes = pack_slices(std::move(groups), std::move(existing), EndpointSlice(), 3);
    EXPECT_EQ(changes.create.size() + changes.remove.size(), 0u);
    ASSERT_EQ(changes.update.size(), 1u) << "the group without a slice takes that without a group";
    EXPECT_EQ(changes.update[0].ports, port(1));
}

TEST(SlicePacking, TellsPortsApartByEveryMember) {
    EndpointPort plain;
    plain.port = 80;
    EndpointPort named = plain, of_protocol = plain, of_application = plain, empty_name = plain;
    named.name = "80";
    of_protocol.protocol = "80";
    of_application.app_protocol = "80";
    empty_name.name = "";
    std::vector<PortGroup> groups;
    for (const auto& one : {plain, named, of_protocol, of_application, empty_name}) groups.push_back({{one}, all("a")});
    EXPECT_EQ(pack_slices(std::move(groups), {}, EndpointSlice(), 3).create.size(), 5u);
}

}  // namespace
}  // namespace porthole::controllers::endpoints
