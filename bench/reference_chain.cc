/* SPDX-License-Identifier: Apache-2.0
 *
 * What the ORB alone needs for the way of a call that is asked down: client to master and back, one-way
 * messages from the master through the leader to the server and back meanwhile, then client to server and
 * back. The relays do nothing but pass the struct on. No hierarchy with these hops over this ORB can be
 * faster.
 *
 *   reference_chain     commands on standard input, answers on standard output:
 *       latency N       N calls; their median in microseconds
 */
#include "bench/reference_twoway.hh"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>
#include <vector>

namespace
{

class Relay : public POA_Reference::Relay
{
  public:
    explicit Relay(Reference::Relay_ptr above) : parent(Reference::Relay::_duplicate(above))
    {
    }

    CORBA::Double add(const Reference::Small &numbers) override
    {
        return numbers.a + numbers.b;
    }

    CORBA::Double submit(const Reference::Small &numbers) override
    {
        child->ask(numbers);
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [&] { return answered.erase(numbers.tag) > 0; });
        return numbers.a;
    }

    void ask(const Reference::Small &numbers) override
    {
        if (CORBA::is_nil(child))
            parent->answer(numbers);
        else
            child->ask(numbers);
    }

    void answer(const Reference::Small &numbers) override
    {
        if (!CORBA::is_nil(parent)) {
            parent->answer(numbers);
            return;
        }
        std::lock_guard<std::mutex> lock(mutex);
        answered.insert(numbers.tag);
        changed.notify_one();
    }

    void attach(Reference::Relay_ptr below) override
    {
        child = Reference::Relay::_duplicate(below);
    }

  private:
    Reference::Relay_var parent, child;
    std::mutex mutex;
    std::condition_variable changed;
    std::set<CORBA::Long> answered;
};

CORBA::ORB_ptr make_orb()
{
    int argc = 0;
    const char *options[][2] = {{"endPoint", "giop:tcp:127.0.0.1:0"}, {nullptr, nullptr}};
    return CORBA::ORB_init(argc, nullptr, "omniORB4", options);
}

Reference::Relay_ptr relay_at(CORBA::ORB_ptr orb, const std::string &reference)
{
    if (reference.empty())
        return Reference::Relay::_nil();
    CORBA::Object_var object = orb->string_to_object(reference.c_str());
    return Reference::Relay::_narrow(object);
}

/* The life of a relay: writes its reference, serves until it is killed. */
[[noreturn]] void serve(const std::string &parent, int out)
{
    CORBA::ORB_var orb = make_orb();
    CORBA::Object_var object = orb->resolve_initial_references("omniINSPOA");
    PortableServer::POA_var poa = PortableServer::POA::_narrow(object);
    PortableServer::ObjectId_var id = PortableServer::string_to_ObjectId("relay");
    Reference::Relay_var above = relay_at(orb, parent);
    Relay relay(above);
    poa->activate_object_with_id(id, &relay);
    PortableServer::POAManager_var manager = poa->the_POAManager();
    manager->activate();
    object = poa->id_to_reference(id);
    if (!CORBA::is_nil(above)) {
        Reference::Relay_var self = Reference::Relay::_narrow(object);
        above->attach(self);
    }
    CORBA::String_var ior = orb->object_to_string(object);
    std::string line = std::string(ior) + "\n";
    if (write(out, line.data(), line.size()) != (ssize_t)line.size())
        _exit(1);
    orb->run();
    _exit(0);
}

/* Forked before this process has an ORB. Returns its reference. */
std::string start(const std::string &parent, std::vector<pid_t> &children)
{
    int ends[2];
    if (pipe(ends) != 0)
        abort();
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        serve(parent, ends[1]);
    }
    close(ends[1]);
    children.push_back(pid);
    std::string reference;
    for (char byte; read(ends[0], &byte, 1) == 1 && byte != '\n';)
        reference += byte;
    close(ends[0]);
    return reference;
}

double now_us()
{
    using namespace std::chrono;
    return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

double latency(Reference::Relay_ptr master, Reference::Relay_ptr server, size_t n)
{
    std::vector<double> samples(n);
    for (size_t i = 0; i < n; i++) {
        Reference::Small numbers = {1.0, (double)i, (CORBA::Long)i};
        double before = now_us();
        if (master->submit(numbers) != 1.0 || server->add(numbers) != 1.0 + (double)i)
            abort();
        samples[i] = now_us() - before;
    }
    std::nth_element(samples.begin(), samples.begin() + (long)(n / 2), samples.end());
    return samples[n / 2];
}

} // namespace

int main()
{
    std::vector<pid_t> children;
    std::string at_master = start("", children), at_leader = start(at_master, children),
                at_server = start(at_leader, children);
    CORBA::ORB_var orb = make_orb();
    Reference::Relay_var master = relay_at(orb, at_master), server = relay_at(orb, at_server);
    char line[128];
    while (fgets(line, sizeof line, stdin)) {
        size_t n;
        if (sscanf(line, "latency %zu", &n) == 1)
            printf("%.9g\n", latency(master, server, n));
        fflush(stdout);
    }
    for (pid_t child : children) {
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
    }
    return 0;
}
