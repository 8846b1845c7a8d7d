#include "controllers/service_account/service_account.h"

#include "controllers/framework/sim/sim_world.h"

namespace porthole::controllers {
namespace {

using namespace api::core::v1;

class ServiceAccountWorld : public SimWorld {
protected:
    void add_namespace(const std::string& name) {
        Namespace space;
        space.metadata.name = name;
        api.put(space);
    }
    bool has_account(const std::string& space) { return api.find<ServiceAccount>({space, "default"}).has_value(); }
};

TEST_F(ServiceAccountWorld, EveryNamespaceGetsADefaultAccount) {
    add_namespace("before");
    run<ServiceAccountController>();
    add_namespace("after");
    pass(1s);
    EXPECT_TRUE(has_account("before"));
    EXPECT_TRUE(has_account("after"));
}

TEST_F(ServiceAccountWorld, ADeletedAccountComesBack) {
    add_namespace("a");
    run<ServiceAccountController>();
    pass(1s);
    api.remove<ServiceAccount>({"a", "default"});
    pass(1s);
    EXPECT_TRUE(has_account("a"));
}

}  // namespace
}  // namespace porthole::controllers
