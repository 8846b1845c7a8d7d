#include "controllers/framework/owner.h"

#include <gtest/gtest.h>

#include "api/apps_v1.h"
#include "api/core_v1.h"

namespace porthole::controllers {
namespace {

using api::apps::v1::DaemonSet;
using api::core::v1::Pod;
using Keys = std::vector<client::NamespacedName>;

/// Owners without an informer.
struct Sets {
    std::vector<std::shared_ptr<const DaemonSet>> all;

    std::shared_ptr<const DaemonSet> find(const client::NamespacedName& key) const {
        for (const auto& set : all)
            if (client::key_of(*set) == key) return set;
        return nullptr;
    }
    std::vector<std::shared_ptr<const DaemonSet>> list(const std::string& namespace_) const {
        std::vector<std::shared_ptr<const DaemonSet>> found;
        for (const auto& set : all)
            if (set->metadata.namespace_ == namespace_) found.push_back(set);
        return found;
    }
};

std::shared_ptr<const DaemonSet> make_set(const char* namespace_, const char* name, const char* app) {
    auto set = std::make_shared<DaemonSet>();
    set->metadata.namespace_ = namespace_;
    set->metadata.name = name;
    set->metadata.uid = std::string("uid-") + name;
    set->spec.selector.emplace().match_labels["app"] = app;
    return set;
}

struct FindOwner : testing::Test {
    FindOwner() {
        pod.metadata.namespace_ = "ns";
        pod.metadata.labels["app"] = "web";
    }
    void control(const char* kind, const char* name, const char* uid) {
        pod.metadata.owner_references = {{.kind = kind, .name = name, .uid = uid, .controller = true}};
    }
    Keys concerned() const { return concerned_owners(sets, DaemonSet::kind(), pod.metadata); }

    Sets sets{{make_set("ns", "a", "web"), make_set("ns", "b", "web"), make_set("ns", "c", "db"), make_set("other", "d", "web")}};
    Pod pod;
};

TEST_F(FindOwner, TheControllerOfADependentIsConcerned) {
    control("DaemonSet", "c", "uid-c");
    EXPECT_EQ(find_owner(sets, DaemonSet::kind(), pod.metadata), sets.all[2]);
    EXPECT_EQ(concerned(), (Keys{{"ns", "c"}}));
}

TEST_F(FindOwner, AnOrphanConcernsThoseInItsNamespaceThatSelectIt) {
    EXPECT_EQ(find_owner(sets, DaemonSet::kind(), pod.metadata), nullptr);
    EXPECT_EQ(concerned(), (Keys{{"ns", "a"}, {"ns", "b"}}));
}

TEST_F(FindOwner, NobodyIsConcernedByWhatAnotherControls) {
    const struct {
        const char *name, *kind, *owner, *uid;
    } rows[] = {
        {"another kind of the same name", "ReplicaSet", "a", "uid-a"},
        {"a predecessor of the same name", "DaemonSet", "a", "uid-before"},
        {"one that is not cached", "DaemonSet", "x", "uid-x"},
        {"one in another namespace", "DaemonSet", "d", "uid-d"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        control(row.kind, row.owner, row.uid);
        EXPECT_EQ(find_owner(sets, DaemonSet::kind(), pod.metadata), nullptr);
        EXPECT_EQ(concerned(), Keys{});
    }
}

}  // namespace
}  // namespace porthole::controllers
