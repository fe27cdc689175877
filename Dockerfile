# An image of Python, its libraries and the service, and nothing else: no shell, no installer.
# docs/how-to/container.md explains how to build and run it.

FROM python:3.13-trixie AS build

WORKDIR /build
COPY requirements/build.txt requirements/run.txt requirements/
# The copied interpreter does not refer to the one of this stage.
RUN python3 -m venv --without-pip tools \
    && python3 -m venv --copies --without-pip /opt/comptoir \
    && rm /opt/comptoir/bin/python3* \
    && python3 -m pip --python tools/bin/python install --no-compile --require-hashes -r requirements/build.txt \
    && tools/bin/pip --python /opt/comptoir/bin/python install --no-compile --require-hashes -r requirements/run.txt

COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN tools/bin/python -m hatchling build --target wheel --directory dist \
    && tools/bin/pip --python /opt/comptoir/bin/python install --no-compile --no-deps dist/*.whl

# What runs: the environment, the standard library without what a service does not use, and the libraries with which the
# modules of both are linked. Debug symbols would be a third of the image.
RUN mkdir -m 0700 data \
    && mkdir -p /image/etc \
    && mkdir -m 1777 /image/tmp \
    && echo 'comptoir:x:10001:10001::/var/lib/comptoir:' > /image/etc/passwd \
    && stdlib=$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))') \
    && printf "${stdlib#/}/%s\n" 'config-*' ensurepip idlelib 'lib-dynload/_tkinter*' lib2to3 pydoc_data site-packages \
        test tkinter turtledemo > unused \
    && tar --create --exclude=__pycache__ --exclude-from=unused --directory=/ opt/comptoir "${stdlib#/}" \
    | tar --extract --directory=/image \
    && cd / \
    && find /image -type f \( -name python -o -name '*.so*' \) -exec ldd {} + \
    | sed -n 's/^\t\(.* => \)\{0,1\}\(\/[^ ]*\) (.*/\2/p' | grep -v ^/image/ | sort -u \
    | xargs cp --dereference --parents -t /image \
    && find /image -type f \( -name python -o -name '*.so*' \) -exec strip --strip-unneeded {} + \
    && cp --archive --parents -t /image /etc/ld.so.cache /etc/nsswitch.conf /etc/ssl/certs/ca-certificates.crt
# The imports compile the modules of a service, which cannot keep bytecode in a read-only image.
RUN chroot /image /opt/comptoir/bin/python -c \
        'import comptoir.cli.main, comptoir.cli.serve, comptoir.features.inspector.inspector, comptoir.features.samples.command, comptoir.store.revisions'

FROM scratch

COPY --from=build /image /
COPY --from=build --chown=10001:10001 /build/data /var/lib/comptoir/data
ENV PATH=/opt/comptoir/bin \
    LANG=C.UTF-8 \
    SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
    COMPTOIR_HOST=0.0.0.0 \
    COMPTOIR_PORT=8080 \
    COMPTOIR_ADMIN_HOST=0.0.0.0 \
    COMPTOIR_ADMIN_PORT=8081 \
    COMPTOIR_CONSOLE=on
USER 10001:10001
WORKDIR /var/lib/comptoir
# The SQLite file and the keys. The service writes nowhere else but in /tmp.
VOLUME /var/lib/comptoir/data
# The API, and what is for the operator alone: the console, /docs, /readyz and /metrics.
EXPOSE 8080 8081
# Not `urlopen`, which would ask the proxy that Docker names to containers.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["python", "-c", \
    "import os, urllib.request as http; direct = http.build_opener(http.ProxyHandler({})); \
    direct.open('http://127.0.0.1:' + os.environ['COMPTOIR_PORT'] + '/healthz')"]
ENTRYPOINT ["comptoir"]
CMD ["serve"]
