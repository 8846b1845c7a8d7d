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

}  // namespace
}  // namespace porthole::controllers::endpoints
