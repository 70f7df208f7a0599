Written by Espalier                                                     ESPALIER
             2             1             1             0             0
PSA                        3             3             3             0
(40I2)          (40I2)                              
 1 3 4 4
 1 3 3
