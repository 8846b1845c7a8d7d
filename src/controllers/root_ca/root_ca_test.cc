#include "controllers/root_ca/root_ca.h"
#include "controllers/root_ca/serving_trust_bundle.h"

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

TEST_F(RootCaWorld, PublishesTheAuthorityAsTheBundleOfItsSignerAndDeletesOthersOfThatSigner) {
    using Bundle = api::certificates::v1beta1::ClusterTrustBundle;
    const auto put = [this](const char* name, const char* signer) {
        Bundle bundle;
        bundle.metadata.name = name;
        bundle.spec.signer_name = signer;
        api.put(bundle);
    };
    put("kubernetes.io:kube-apiserver-serving:old", "kubernetes.io/kube-apiserver-serving");
    put("example.com:s:a", "example.com/s");
    run<ServingTrustBundlePublisher>();
    pass(1s);
    const auto names = [this] {
        std::set<std::string> all;
        for (const Bundle& bundle : api.list<Bundle>()) all.insert(bundle.metadata.name);
        return all;
    };
    const std::string name = "kubernetes.io:kube-apiserver-serving:384fb9a44fabe158be2757b9";
    EXPECT_EQ(names(), (std::set<std::string>{"example.com:s:a", name}));
    api.change<Bundle>({"", name}, [](Bundle& bundle) { bundle.spec.trust_bundle = "other"; });
    pass(1s);
    EXPECT_EQ(api.find<Bundle>({"", name})->spec.trust_bundle, "PEM");
    api.remove<Bundle>({"", name});
    pass(1s);
    EXPECT_EQ(api.find<Bundle>({"", name})->spec.signer_name, "kubernetes.io/kube-apiserver-serving");
}

}  // namespace
}  // namespace porthole::controllers
