#include "objects/node_selectors.h"

#include <gtest/gtest.h>

namespace porthole::objects {
namespace {

using api::core::v1::NodeSelectorTerm;
using api::core::v1::PodSpec;

const Labels OfNode{{"zone", "a"}, {"cores", "8"}};

TEST(NodeSelectors, ATermHoldsWhenAllItsRequirementsDo) {
    NodeSelectorTerm term;
    EXPECT_FALSE(matches(term, OfNode, "n1")) << "without requirements";
    term.match_expressions = {{.key = "zone", .operator_ = "In", .values = {"a", "b"}},
                              {.key = "cores", .operator_ = "Gt", .values = {"4"}}};
    EXPECT_TRUE(matches(term, OfNode, "n1"));
    term.match_fields = {{.key = "metadata.name", .operator_ = "In", .values = {"n1"}}};
    EXPECT_TRUE(matches(term, OfNode, "n1"));
    EXPECT_FALSE(matches(term, OfNode, "n2"));
    term.match_fields = {{.key = "metadata.uid", .operator_ = "Exists"}};
    EXPECT_FALSE(matches(term, OfNode, "n1")) << "no other field can be selected";
}

TEST(NodeSelectors, AComparisonHasExactlyOneBound) {
    NodeSelectorTerm term;
    term.match_expressions = {{.key = "cores", .operator_ = "Gt", .values = {"4", "16"}}};
    EXPECT_FALSE(matches(term, OfNode, "n1"));
    term.match_expressions = {{.key = "cores", .operator_ = "Lt", .values = {"16", "4"}}};
    EXPECT_FALSE(matches(term, OfNode, "n1"));
}

TEST(NodeSelectors, AnUnknownOperatorHoldsForNoNode) {
    NodeSelectorTerm term;
    term.match_expressions = {{.key = "other", .operator_ = "Like", .values = {"a"}}};
    EXPECT_FALSE(matches(term, OfNode, "n1"));
}

TEST(NodeSelectors, APodAcceptsNodesOfItsSelectorAndOfOneRequiredTerm) {
    PodSpec spec;
    EXPECT_TRUE(accepts_node(spec, OfNode, "n1"));
    spec.node_selector = {{"zone", "b"}};
    EXPECT_FALSE(accepts_node(spec, OfNode, "n1"));
    spec.node_selector = {{"zone", "a"}};
    auto& required = spec.affinity.emplace().node_affinity.emplace().required_during_scheduling_ignored_during_execution.emplace();
    required.node_selector_terms.resize(2);
    required.node_selector_terms[0].match_expressions = {{.key = "gpu", .operator_ = "Exists"}};
    EXPECT_FALSE(accepts_node(spec, OfNode, "n1"));
    required.node_selector_terms[1].match_fields = {{.key = "metadata.name", .operator_ = "In", .values = {"n1"}}};
    EXPECT_TRUE(accepts_node(spec, OfNode, "n1"));
}

}  // namespace
}  // namespace porthole::objects
