#include "controllers/root_ca/root_ca.h"

#include "controllers/framework/sim/sim_world.h"

namespace porthole::controllers {
namespace {

using namespace api::core::v1;

class RootCaWorld : public SimWorld {
protected:
    RootCaWorld() {
        settings.root_ca_pem = "PEM";
        Namespace space;
        space.metadata.name = "a";
        api.put(space);
        run<RootCaController>();
        pass(1s);
    }
    std::string published() {
        const auto map = api.find<ConfigMap>({"a", "kube-root-ca.crt"});
        return map.has_value() ? map->data.at("ca.crt") : "";
    }
};

TEST_F(RootCaWorld, PublishesTheAuthority) { EXPECT_EQ(published(), "PEM"); }

TEST_F(RootCaWorld, RepairsWhatSomebodyChanged) {
    api.change<ConfigMap>({"a", "kube-root-ca.crt"}, [](ConfigMap& map) { map.data["ca.crt"] = "other"; });
    pass(1s);
    EXPECT_EQ(published(), "PEM");
}

TEST_F(RootCaWorld, MakesItAgainWhenItIsDeleted) {
    api.remove<ConfigMap>({"a", "kube-root-ca.crt"});
    pass(1s);
    EXPECT_EQ(published(), "PEM");
}

}  // namespace
}  // namespace porthole::controllers
