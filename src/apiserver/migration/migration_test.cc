#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/core_v1.h"
#include "apiserver/etcd_form/etcd_form.h"
#include "apiserver/migration/etcd_transfer.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"
#include "schema/protobuf/protobuf.h"
#include "store/etcd/prefix_copy.h"
#include "store/etcd/sim/etcd_model.h"
#include "store/lease_table.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using store::LeaseId;
using store::Revision;
using store::Row;
using store::etcd::EtcdModel;
using testing::HasSubstr;

const std::string Secret = "/registry/core/secrets/ns/a", Pod = "/registry/core/pods/ns/a", Event = "/registry/core/events/ns/a",
                  Widget = "/registry/example.com/widgets/ns/a", Port = "/allocation/node-ports/30000";
constexpr std::uint32_t Gap = 32;

std::string object(const std::string& kind, const std::string& more = "", const std::string& version = "v1") {
    return R"({"metadata":{"resourceVersion":""},"apiVersion":")" + version + R"(","kind":")" + kind + R"(")" + more + "}";
}

std::shared_ptr<StorageEncryption> make_encryption(const std::string& key = "k1") {
    auto encryption = std::make_shared<StorageEncryption>(MakeKmsCipher());
    const auto configuration = EncryptionConfiguration::parse(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets, widgets.example.com]\n"
        "  providers:\n  - aesgcm:\n      keys:\n      - name: " +
        key + "\n        secret: YWFhYWFhYWFhYWFhYWFhYQ==\n  - identity: {}\n");
    CHECK(configuration && encryption->use(*configuration));
    return encryption;
}

std::string sealed(const std::string& key, const std::string& plain) {
    const auto encryption = make_encryption();
    const auto held = encryption->hold();
    return encryption->seal(key, plain)->bytes;
}

struct TransferFormTest : testing::Test {
    TransferForm form{make_encryption(), make_encryption(), "/registry"}, elsewhere{make_encryption(), make_encryption(), "/cluster/a"};
};

TEST_F(TransferFormTest, WhatIsNotTheStateOfAClusterIsLeftOut) {
    EXPECT_EQ(form.key_of("/registry/pods/ns/a"), Pod);
    EXPECT_EQ(form.key_of("/registry/example.com/widgets/ns/a"), Widget);
    EXPECT_EQ(form.key_of("/registry/_porthole/allocation/node-ports/30000"), Port);
    for (const char* other :
         {"/registry/_porthole/fence", "/registry/_porthole/progress", "/registry/_porthole/shared-secrets", "/registry/_porthole/copying",
          "/registry/_porthole/copying/raised", "/registry/_porthole/porthole/leases/0000000000000001", "/registry/ranges/serviceips",
          "/registry/masterleases/10.0.0.1", "/registry/core/pods/ns/a", "/other/pods/ns/a"})
        EXPECT_EQ(form.key_of(other), std::nullopt) << other;
}

TEST_F(TransferFormTest, AnEncryptedValueStaysAsItIsUnderTheSameKey) {
    const std::string plain = object("Secret"), stored = sealed(Secret, plain);
    const auto out = form.for_etcd({.key = Secret, .value = stored, .revision_at = Gap});
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_EQ(out->stored, stored);
    EXPECT_EQ(out->plain, plain);
    const auto back = form.for_embedded(Secret, out->stored);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->stored, stored);
    EXPECT_EQ(back->revision_at, Gap);
}

TEST_F(TransferFormTest, AnEncryptedValueIsEncryptedAnewForAnotherKey) {
    for (const auto& [key, plain] : {std::pair(Secret, object("Secret")), std::pair(Widget, object("Widget", "", "example.com/v1"))}) {
        SCOPED_TRACE(key);
        const std::string stored = sealed(key, plain);
        const auto out = elsewhere.for_etcd({.key = key, .value = stored, .revision_at = Gap});
        ASSERT_TRUE(out) << out.error().message;
        EXPECT_NE(out->stored, stored);
        EXPECT_EQ(make_etcd_form(make_encryption(), "/cluster/a")->open(key, out->stored).bytes, plain) << "as a server opens it";
        const auto back = elsewhere.for_embedded(key, out->stored);
        ASSERT_TRUE(back) << back.error().message;
        EXPECT_EQ(back->plain, plain);
        EXPECT_EQ(*elsewhere.plain({.key = key, .value = back->stored, .revision_at = Gap}), plain);
    }
}

TEST_F(TransferFormTest, WhatUpstreamHasStoredBecomesWhatIsStoredHere) {
    const auto tree = schema::parse_json(R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"ns"},"type":"Opaque"})");
    const auto protobuf = schema::encode_enveloped(api::core::v1::Secret::kind(), *tree);
    ASSERT_TRUE(protobuf);
    for (const std::string& stored : {*protobuf, sealed(Secret, *protobuf)}) {
        const auto opened = form.for_embedded(Secret, stored);
        ASSERT_TRUE(opened) << opened.error().message;
        EXPECT_TRUE(opened->revision_at);
        EXPECT_THAT(opened->plain, HasSubstr(R"("type":"Opaque")"));
        EXPECT_TRUE(opened->stored.starts_with("k8s:enc:aesgcm:v1:k1:")) << "no secret becomes plain";
        EXPECT_EQ(*form.plain({.key = Secret, .value = opened->stored}), opened->plain);
    }
}

TEST_F(TransferFormTest, ARecordOfPortholesIsNotLookedInto) {
    for (const std::string& value : {std::string("ns/service"), std::string("k8s:enc:something"), std::string("\0\xff", 2)}) {
        const auto opened = form.for_embedded(Port, value);
        ASSERT_TRUE(opened);
        EXPECT_EQ(opened->stored, value);
        EXPECT_EQ(opened->revision_at, std::nullopt);
        EXPECT_EQ(form.for_etcd({.key = Port, .value = value})->stored, value);
    }
}

TEST_F(TransferFormTest, WhatCannotBeReadIsNamed) {
    const TransferForm other(make_encryption("k2"), make_encryption("k2"), "/registry");
    const std::string stored = sealed(Secret, object("Secret"));
    EXPECT_THAT(other.for_embedded(Secret, stored).error().message, HasSubstr(Secret + " cannot be read: "));
    EXPECT_THAT(other.for_etcd({.key = Secret, .value = stored, .revision_at = Gap}).error().message,
                HasSubstr(Secret + " cannot be read: "));
    EXPECT_THAT(form.for_embedded(Pod, "garbage").error().message, HasSubstr(Pod + " cannot be read: "));
}

TEST(ManifestTest, FindsTheFirstDifference) {
    const auto of = [](std::initializer_list<std::tuple<std::string, std::string, bool>> records) {
        Manifest manifest;
        for (const auto& [key, value, ends] : records) manifest.add(key, value, ends);
        return manifest;
    };
    const Manifest source = of({{Pod, "1", false}, {Event, "2", true}, {Port, "3", false}, {Widget, "4", false}});
    EXPECT_EQ(source.difference(source), "");
    EXPECT_EQ(source.difference(of({{Pod, "1", false}, {Port, "3", false}, {Widget, "4", false}})), "") << "the event has ended";
    EXPECT_EQ(source.difference(of({{Event, "2", true}, {Port, "3", false}, {Widget, "4", false}})), Pod + " is missing");
    EXPECT_EQ(source.difference(of({{Pod, "x", false}, {Event, "2", true}, {Port, "3", false}, {Widget, "4", false}})),
              Pod + " has another value");
    EXPECT_EQ(source.difference(of({{Pod, "1", false}, {Event, "2", false}, {Port, "3", false}, {Widget, "4", false}})),
              Event + " has lost its lease");
    EXPECT_EQ(of({{Pod, "1", false}}).difference(source), Port + " should not be there");
    EXPECT_EQ(source.counts(),
              (std::map<std::string, std::size_t>{{"allocation", 1}, {"events", 1}, {"pods", 1}, {"widgets.example.com", 1}}));
    EXPECT_NE(source.digest(), of({{Pod, "1", false}}).digest());
}

Task<> go_on() { co_return {}; }

struct EtcdTransferTest : testing::Test {
    EtcdTransferTest() {
        const auto add = [&](std::string key, std::string value, std::uint64_t revision, std::optional<std::uint32_t> at, LeaseId lease) {
            Row row{.revision = Revision(revision),
                    .key = std::move(key),
                    .value = std::move(value),
                    .revision_at = at,
                    .created = Revision(revision),
                    .lease = lease};
            CHECK(add_row(state, form, std::move(row)));
        };
        add(store::lease_key(LeaseId(9)), "3600000000000", 20, {}, {});
        add(Event, object("Event"), 21, Gap, LeaseId(9));
        add(Secret, sealed(Secret, object("Secret")), 22, Gap, {});
        add(Widget, sealed(Widget, object("Widget", "", "example.com/v1")), 23, Gap, {});
        add(Port, "ns/service", 24, {}, {});
        for (int i = 0; i < 300; ++i) add(Pod + std::to_string(i), object("Pod"), 30 + static_cast<std::uint64_t>(i), Gap, {});
        state.revision = Revision(400);
    }
    ~EtcdTransferTest() override {
        EXPECT_TRUE(sim::run(loop, client.close()));
        EXPECT_TRUE(sim::run(loop, etcd.close()));
        loop.run_ready();
    }
    EtcdTransfer transfer(const TransferForm& with) { return EtcdTransfer({loop, pool, client, with}); }
    Result<StoreState> write(const std::string& source = "cluster 1", bool may_be_lower = false) {
        EtcdTransfer writing = transfer(form);
        return sim::run(loop, writing.write(state, source, may_be_lower));
    }
    Result<StoreState> read(const TransferForm& with) {
        EtcdTransfer reading = transfer(with);
        return sim::run(loop, reading.read());
    }
    Result<void> check_unchanged(const StoreState& before) {
        EtcdTransfer looking = transfer(form);
        return sim::run(loop, looking.check_unchanged(before));
    }
    /// What is below the prefix, apart from the mark.
    std::string left(const std::string& key) { return etcd.value("/registry" + key); }

    sim::SimLoop loop;
    sim::SimWorkerPool pool{loop};
    EtcdModel etcd{loop, 3, 1};
    store::etcd::Client client{loop, etcd.members()};
    TransferForm form{make_encryption(), make_encryption(), "/registry"};
    StoreState state;
};

TEST_F(EtcdTransferTest, ThereAndBackEverythingIsTheSame) {
    etcd.put("/registry2/other", "theirs");
    const auto written = write();
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(written->manifest.size(), 304u);
    EXPECT_EQ(etcd.key_count(), 305u) << "no mark is left";
    EXPECT_EQ(left("/_porthole/allocation/node-ports/30000"), "ns/service");
    EXPECT_EQ(left("/secrets/ns/a"), state.rows[2].value) << "as it was encrypted";
    const auto read_again = read(form);
    ASSERT_TRUE(read_again) << read_again.error().message;
    EXPECT_EQ(read_again->manifest.difference(state.manifest), "");
    EXPECT_EQ(read_again->manifest.digest(), state.manifest.digest());
    ASSERT_EQ(read_again->rows.size(), state.rows.size());
    for (std::size_t i = 1; i < state.rows.size(); ++i) {
        const Row& row = read_again->rows[i];
        EXPECT_GT(row.revision, state.revision) << row.key << ": no object goes back";
        EXPECT_EQ(row.created, row.revision);
        const bool is_object = row.key.starts_with("/registry/");
        EXPECT_EQ(row.revision_at, is_object ? std::optional(Gap) : std::nullopt) << row.key;
        const Row& before = read_again->rows[i - 1];
        EXPECT_TRUE(before.revision < row.revision || (before.revision == row.revision && before.index < row.index));
    }
}

TEST_F(EtcdTransferTest, ALeaseGoesOnWithTheTimeThatIsLeft) {
    ASSERT_TRUE(write());
    EXPECT_EQ(etcd.granted_ttl("/registry/events/ns/a"), 3600);
    loop.advance(600s);
    etcd.put_leased("/registry/events/ns/b", object("Event"), 10);
    etcd.put_leased("/registry/events/ns/c", object("Event"), 10);
    const auto now = read(form);
    ASSERT_TRUE(now) << now.error().message;
    store::LeaseTable leases(loop);
    std::map<std::string, std::string> lifetimes;
    for (const Row& row : now->rows)
        if (row.lease) lifetimes[row.key] = std::ranges::find(now->rows, store::lease_key(row.lease), &Row::key)->value;
    EXPECT_EQ(lifetimes[Event], "3000000000000");
    EXPECT_EQ(lifetimes["/registry/core/events/ns/b"], "10000000000");
    for (const Row& row : now->rows)
        if (row.lease) EXPECT_LT(&*std::ranges::find(now->rows, store::lease_key(row.lease), &Row::key), &row) << "its record comes first";
}

TEST_F(EtcdTransferTest, WhatIsThereAlreadyIsNotTouched) {
    etcd.put("/registry/pods/ns/theirs", "theirs");
    const auto refused = write();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().reason, Reason::AlreadyExists);
    EXPECT_EQ(refused.error().message, "/registry in etcd is not empty: it has 1 keys, such as /registry/pods/ns/theirs");
    EXPECT_EQ(etcd.key_count(), 1u);
}

TEST_F(EtcdTransferTest, ACopyThatBrokeOffIsKnownAndBegunAnew) {
    std::size_t txns = 0;
    etcd.before_txn = [&]() -> Task<> {
        if (++txns == 3)
            for (std::size_t i = 0; i < 3; ++i) etcd.stop(i);
        return go_on();
    };
    const auto broken = write("cluster 1", true);
    ASSERT_FALSE(broken);
    EXPECT_GT(etcd.key_count(), 2u) << "a part of it is there";
    EXPECT_EQ(left("/_porthole/copying"), "cluster 1");
    etcd.before_txn = {};
    for (std::size_t i = 0; i < 3; ++i) etcd.start(i);
    EXPECT_EQ(read(form).error().reason, Reason::AlreadyExists) << "nobody takes it for a whole one";
    EXPECT_EQ(write("cluster 2").error().message, "/registry in etcd has an unfinished copy of another cluster");
    etcd.put("/registry/pods/ns/of-the-first-attempt", object("Pod"));
    const auto again = write();
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(etcd.key_count(), 304u);
}

TEST_F(EtcdTransferTest, TheDataOfANewerBuildIsNotRead) {
    ASSERT_TRUE(write("cluster 1", true));
    etcd.put("/registry/_porthole/data-version", "1");
    EXPECT_TRUE(read(form));
    etcd.put("/registry/_porthole/data-version", "2");
    EXPECT_THAT(read(form).error().message, HasSubstr("written by a newer Porthole"));
}

TEST_F(EtcdTransferTest, WhatAnotherProgramWritesAfterTheLookIsKeptAndNamed) {
    std::size_t txns = 0;
    etcd.before_txn = [&]() -> Task<> {
        if (++txns == 1) etcd.put("/registry/pods/ns/theirs", object("Pod"));
        return go_on();
    };
    const auto copied = write("cluster 1", true);
    ASSERT_FALSE(copied);
    EXPECT_THAT(copied.error().message, HasSubstr("the copy in etcd is not the same"));
    EXPECT_EQ(left("/pods/ns/theirs"), object("Pod"));
}

TEST_F(EtcdTransferTest, OfTwoCopiesAtTheSameTimeTheFirstFails) {
    std::size_t txns = 0;
    etcd.before_txn = [&]() -> Task<> {
        if (++txns == 3) etcd.put("/registry/_porthole/copying", "cluster 1");  // as the second does when it begins
        return go_on();
    };
    const auto first = write("cluster 1", true);
    ASSERT_FALSE(first);
    EXPECT_EQ(first.error().reason, Reason::Conflict) << first.error().message;
}

TEST_F(EtcdTransferTest, ARevisionThatIsTooFarAwayIsRefusedBeforeAnythingIsWritten) {
    state.revision = Revision(2'000'000'000);
    const auto refused = write();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().reason, Reason::BadRequest);
    EXPECT_THAT(refused.error().message, HasSubstr("--allow-lower-revisions"));
    EXPECT_EQ(etcd.key_count(), 0u);
    const auto allowed = write("cluster 1", true);
    ASSERT_TRUE(allowed) << allowed.error().message;
    EXPECT_LT(allowed->revision, Revision(50)) << "nothing was raised";
}

TEST_F(EtcdTransferTest, AnEtcdThatIsFullSaysSoInItsOwnWords) {
    etcd.exceed_space(true);
    EXPECT_THAT(write().error().message, HasSubstr("database space exceeded"));
}

TEST_F(EtcdTransferTest, AnEtcdWithoutAClusterIsNotRead) {
    EXPECT_EQ(read(form).error().reason, Reason::NotFound);
    ASSERT_TRUE(write());
    const TransferForm foreign(make_encryption(), make_encryption(), "/other");
    EXPECT_THAT(read(foreign).error().message, HasSubstr("check --etcd-servers and --etcd-prefix"));
}

TEST_F(EtcdTransferTest, KeysOfUpstreamsOwnAreCountedAndLeftOut) {
    ASSERT_TRUE(write());
    etcd.put("/registry/ranges/serviceips", std::string("k8s\0range", 9));
    etcd.put("/registry/masterleases/10.0.0.1", std::string("k8s\0lease", 9));
    etcd.put("/registry/_porthole/fence", "");
    const auto now = read(form);
    ASSERT_TRUE(now) << now.error().message;
    EXPECT_EQ(now->left_out, 2u);
    EXPECT_EQ(now->manifest.digest(), state.manifest.digest());
}

TEST_F(EtcdTransferTest, WhoeverWritesMeanwhileIsNoticed) {
    ASSERT_TRUE(write());
    auto before = read(form);
    ASSERT_TRUE(before);
    etcd.put("/other/a", "x");
    loop.advance(2h);
    EXPECT_EQ(left("/events/ns/a"), "") << "its lease has ended";
    EXPECT_TRUE(check_unchanged(*before)) << "which is no change";
    etcd.put("/registry/pods/ns/new", object("Pod"));
    EXPECT_THAT(check_unchanged(*before).error().message, HasSubstr("/registry/core/pods/ns/new was written meanwhile"));
    before = read(form);
    etcd.remove("/registry/pods/ns/a7");
    EXPECT_THAT(check_unchanged(*before).error().message, HasSubstr(Pod + "7 was written meanwhile"));
}

}  // namespace
}  // namespace porthole::apiserver
