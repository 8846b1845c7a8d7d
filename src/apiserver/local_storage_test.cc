#include "apiserver/api_server_fixture.h"

namespace porthole::apiserver {
namespace {

struct LocalStorage : ApiServerFixture {
    static constexpr const char *Classes = "/apis/storage.k8s.io/v1/storageclasses",
                                *Local = "/apis/storage.k8s.io/v1/storageclasses/local";
    static constexpr const char* Claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    /// The class that a claim gets which names none.
    std::string class_of_claim(const std::string& name) {
        const Answer made = post(Claims, R"({"metadata":{"name":")" + name +
                                             R"("},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})");
        EXPECT_EQ(made.code, 201) << made.text;
        return std::string(made.at({"spec", "storageClassName"}));
    }
    void start_again() {
        TearDown();
        SetUpAgain();
    }
};

TEST_F(LocalStorage, EveryClusterStartsWithADefaultClass) {
    EXPECT_EQ(get(Local).at({"provisioner"}), "local.porthole.io");
    EXPECT_EQ(get(Local).at({"volumeBindingMode"}), "WaitForFirstConsumer");
    const Answer driver = get("/apis/storage.k8s.io/v1/csidrivers/local.porthole.io");
    EXPECT_EQ(driver.body.at_path({"spec", "storageCapacity"})->as_bool(), true) << driver.text;
    EXPECT_EQ(class_of_claim("data"), "local");
}

TEST_F(LocalStorage, WhatAnAdministratorHasChangedStaysSo) {
    ASSERT_EQ(merge(Local, R"({"metadata":{"annotations":{"storageclass.kubernetes.io/is-default-class":null}}})").code, 200);
    start_again();
    EXPECT_EQ(class_of_claim("changed"), "");
    ASSERT_EQ(call("DELETE", Local).code, 200);
    start_again();
    EXPECT_EQ(get(Local).code, 404);
}

TEST_F(LocalStorage, AClusterWithADefaultClassKeepsIt) {
    ASSERT_EQ(call("DELETE", Local).code, 200);
    ASSERT_EQ(merge("/api/v1/namespaces/kube-system", R"({"metadata":{"annotations":null}})").code, 200);  // as before this was built in
    ASSERT_EQ(post(Classes, R"({"metadata":{"name":"own","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},)"
                            R"("provisioner":"example.com/disks"})")
                  .code,
              201);
    start_again();
    EXPECT_EQ(get(Local).code, 200);
    EXPECT_EQ(class_of_claim("data"), "own");
}

}  // namespace
}  // namespace porthole::apiserver
