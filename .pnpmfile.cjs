// The Prisma client names its command line tool and the compiler as optional peers. It runs without either; with them, a
// hundred packages would come into what is deployed, React and the drivers of other databases among them.
module.exports = {
  hooks: {
    readPackage(manifest) {
      if (manifest.name === '@prisma/client') {
        delete manifest.peerDependencies
        delete manifest.peerDependenciesMeta
      }
      return manifest
    }
  }
}
