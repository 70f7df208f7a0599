/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference of the call benchmarks: omniORB's own two-way call with a small struct, with stubs and
 * options as an expert would choose them, in processes of its own.
 *
 *   reference_twoway serve ADDRESS_FILE      until its standard input ends
 *   reference_twoway call REFERENCE        commands on standard input, answers on standard output:
 *       latency N            N calls; their median in microseconds
 *       rate N THREADS       N calls by each of that many threads; calls per second
 *   reference_twoway once REFERENCE        one call: a minimal client's whole life
 */
#include "bench/reference_twoway.hh"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>
#include <unistd.h>

namespace
{

class Adder : public POA_Reference::Adder
{
  public:
    CORBA::Double add(const Reference::Small &numbers) override
    {
        return numbers.a + numbers.b;
    }
};

double now()
{
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int serve(const char *address_file)
{
    int argc = 0;
    const char *options[][2] = {{"endPoint", "giop:tcp:127.0.0.1:0"}, {nullptr, nullptr}};
    CORBA::ORB_var orb = CORBA::ORB_init(argc, nullptr, "omniORB4", options);
    CORBA::Object_var object = orb->resolve_initial_references("omniINSPOA");
    PortableServer::POA_var poa = PortableServer::POA::_narrow(object);
    PortableServer::ObjectId_var id = PortableServer::string_to_ObjectId("adder");
    Adder adder;
    poa->activate_object_with_id(id, &adder);
    PortableServer::POAManager_var manager = poa->the_POAManager();
    manager->activate();
    object = poa->id_to_reference(id);
    CORBA::String_var ior = orb->object_to_string(object);
    std::string temporary = std::string(address_file) + ".tmp";
    FILE *file = fopen(temporary.c_str(), "w");
    if (!file)
        return 1;
    fputs(ior, file);
    fclose(file);
    rename(temporary.c_str(), address_file);
    char byte;
    while (read(0, &byte, 1) > 0)
        ;
    orb->shutdown(true);
    return 0;
}

void call(Reference::Adder_ptr adder, int i)
{
    Reference::Small numbers = {1.0, (double)i, i};
    if (adder->add(numbers) != 1.0 + i)
        abort();
}

double latency(Reference::Adder_ptr adder, size_t n)
{
    std::vector<double> samples(n);
    for (size_t i = 0; i < n; i++) {
        double start = now();
        call(adder, (int)i);
        samples[i] = now() - start;
    }
    std::nth_element(samples.begin(), samples.begin() + (long)(n / 2), samples.end());
    return samples[n / 2] * 1e6;
}

double rate(Reference::Adder_ptr adder, size_t n, unsigned n_threads)
{
    std::vector<std::thread> threads;
    double start = now();
    for (unsigned t = 0; t < n_threads; t++)
        threads.emplace_back([adder, n] {
            for (size_t i = 0; i < n; i++)
                call(adder, (int)i);
        });
    for (auto &thread : threads)
        thread.join();
    return (double)(n * n_threads) / (now() - start);
}

int client(const char *reference, bool once)
{
    int argc = 0;
    const char *options[][2] = {{"maxGIOPConnectionPerServer", "64"}, {nullptr, nullptr}};
    CORBA::ORB_var orb = CORBA::ORB_init(argc, nullptr, "omniORB4", options);
    CORBA::Object_var object = orb->string_to_object(reference);
    Reference::Adder_var adder = Reference::Adder::_narrow(object);
    call(adder, 1);
    char line[128];
    while (!once && fgets(line, sizeof line, stdin)) {
        size_t n;
        unsigned threads;
        if (sscanf(line, "latency %zu", &n) == 1)
            printf("%.9g\n", latency(adder, n));
        else if (sscanf(line, "rate %zu %u", &n, &threads) == 2)
            printf("%.9g\n", rate(adder, n, threads));
        fflush(stdout);
    }
    orb->destroy();
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "serve"))
        return serve(argv[2]);
    if (argc == 3 && (!strcmp(argv[1], "call") || !strcmp(argv[1], "once")))
        return client(argv[2], !strcmp(argv[1], "once"));
    fprintf(stderr, "usage: %s serve FILE | call REFERENCE | once REFERENCE\n", argv[0]);
    return 2;
}
